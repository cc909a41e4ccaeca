# SPDX-License-Identifier: Apache-2.0
"""Checks of a machine with several processors: where its memory is, and which threads are far from each other."""

from anello.doctor.finding import CheckResult, Fix, better, good, not_applicable
from anello.doctor.subject import Subject
from anello.host import topology
from anello.host.host import Host, show_cores


def interleaving(host: Host, subject: Subject) -> CheckResult:
    """Checks the NUMA nodes: firmware that interleaves memory shows one node where there are several processors."""
    found = topology.read(host)
    n_packages, n_nodes = len(found.packages), len(found.nodes)
    if n_packages < 2:
        return not_applicable("one processor")
    what = f"{n_packages} processors, {n_nodes} memory node{'s' if n_nodes > 1 else ''}"
    if n_nodes >= n_packages:
        return good(what)
    fix = Fix(advice="in the BIOS: node interleaving off (on some boards: NUMA on)")
    return better(f"{what}: memory is interleaved, no thread has its own near it", fix)


def far_threads(host: Host, subject: Subject) -> CheckResult:
    found, pinned = topology.read(host), set(subject.pinned_cores)
    if len(found.nodes) < 2:
        return not_applicable("one NUMA node")
    if not pinned:
        return not_applicable("threads.cores pins none")
    by_node: dict[int, set[int]] = {}
    for core in found.cores:
        by_node.setdefault(core.node, set()).update(core.threads)
    used = {node: sorted(pinned & threads) for node, threads in sorted(by_node.items()) if pinned & threads}
    if len(used) == 1:
        return good(f"threads.cores {show_cores(pinned)} are on node {next(iter(used))}")
    what = ", ".join(f"{show_cores(cores)} on node {node}" for node, cores in used.items())
    most = max(used, key=lambda node: len(used[node]))
    fix = Fix(advice=f"in the configuration: threads.cores from {show_cores(by_node[most])}")
    return better(f"threads.cores: {what}", fix)
