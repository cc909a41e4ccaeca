# SPDX-License-Identifier: Apache-2.0
"""The cores of a host, and how much of them its control groups allow."""

import re
from collections.abc import Iterator

from anello.host.host import CPU, CannotTell, Host

KERNEL = "proc/sys/kernel"
MAX_GROUPS = 64


def siblings_of(host: Host) -> Iterator[tuple[int, frozenset[int]]]:
    for name in host.names(CPU):
        path = f"{CPU}/{name}/topology/thread_siblings_list"
        if re.fullmatch(r"cpu\d{1,4}", name) and host.has(path):
            yield int(name[3:]), host.cores_in(path)


def listed(host: Host, name: str) -> frozenset[int]:
    """The cores in a kernel list. An absent file, or the word (null), means that there are none."""
    path = f"{CPU}/{name}"
    return host.cores_in(path) if host.has(path) and host.text(path) != "(null)" else frozenset()


def quotas(host: Host) -> Iterator[tuple[float, str]]:
    """(cores allowed, group) of each control group with a quota."""
    for group in _groups(host):
        allowed = _quota(host, group)
        if allowed is not None:
            yield allowed, group


def _groups(host: Host) -> Iterator[str]:
    """This process's control groups that limit cores, and those above them: version 2, or version 1."""
    for line in host.text("proc/self/cgroup").splitlines():
        _, controllers, path = ([*line.split(":", 2), "", ""])[:3]
        mounts = ["sys/fs/cgroup"] if not controllers else []
        if "cpu" in controllers.split(","):
            mounts = ["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"]
        parts = [part for part in path.split("/") if part not in ("", "..")][:MAX_GROUPS]
        for mount in mounts:
            yield from ("/".join([mount, *parts[:n]]) for n in range(len(parts), -1, -1))


def _quota(host: Host, group: str) -> float | None:
    try:
        if host.has(f"{group}/cpu.max"):
            quota, period = host.text(f"{group}/cpu.max").split()
        else:
            quota, period = host.text(f"{group}/cpu.cfs_quota_us"), host.text(f"{group}/cpu.cfs_period_us")
        return None if quota == "max" or int(quota) < 0 else int(quota) / max(1, int(period))
    except (CannotTell, ValueError):
        return None
