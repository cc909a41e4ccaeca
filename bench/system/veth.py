# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces joined by a pair of virtual Ethernet devices: packets leave one stack and enter another."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Path:
    """Where a sender and a receiver stand: what comes before their commands, the receiver's address and interface."""

    name: str
    before_sender: tuple[str, ...]
    before_receiver: tuple[str, ...]
    address: str
    interface: str


LOOPBACK = Path("loopback", (), (), "127.0.0.1", "lo")


class VethUnavailableError(RuntimeError):
    """No namespaces here; the message says why."""


@contextmanager
def veth_pair(mtu_bytes: int = 9000) -> Iterator[Path]:
    """Made on entry, removed on exit. Raises VethUnavailableError."""
    if os.geteuid() != 0:
        raise VethUnavailableError("network namespaces need root")
    if not shutil.which("ip"):
        raise VethUnavailableError("there is no `ip` command (package iproute2)")
    sender, receiver = (f"anello-{end}-{os.getpid()}" for end in ("send", "take"))
    try:
        for name in (sender, receiver):
            _ip("netns", "add", name)
        devices = [f"an{end}{os.getpid()}" for end in ("s", "t")]
        _ip("link", "add", devices[0], "netns", sender, "type", "veth", "peer", "name", devices[1], "netns", receiver)
        for name, device, address in zip((sender, receiver), devices, ("10.199.0.1", "10.199.0.2"), strict=True):
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            _ip("-n", name, "link", "set", device, "mtu", str(mtu_bytes), "up")
        inside = [("ip", "netns", "exec", name) for name in (sender, receiver)]
        yield Path("veth", inside[0], inside[1], "10.199.0.2", devices[1])
    finally:
        for name in (sender, receiver):  # the devices go with them
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise VethUnavailableError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
