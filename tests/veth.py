# SPDX-License-Identifier: Apache-2.0
"""Network namespaces joined by pairs of virtual Ethernet devices: packets leave one stack and enter another. Two of
them, or several around a bridge, whose links can be cut."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Path:
    """Where a sender and a receiver run: the prefix of their commands, the receiver's address and interface."""

    name: str
    before_sender: tuple[str, ...]
    before_receiver: tuple[str, ...]
    address: str
    interface: str


LOOPBACK = Path("loopback", (), (), "127.0.0.1", "lo")


class VethUnavailableError(RuntimeError):
    """No namespaces can be made here; the message says why."""


@contextmanager
def veth_pair(mtu_bytes: int = 9000) -> Iterator[Path]:
    """Made on entry, removed on exit. Raises VethUnavailableError."""
    _need_namespaces()
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


@dataclass(frozen=True)
class Star:
    """Namespaces, each with one link to a bridge in a namespace of its own."""

    hub: str
    names: tuple[str, ...]

    def before(self, i: int) -> tuple[str, ...]:
        """Prefix of a command that is to run in namespace i."""
        return ("ip", "netns", "exec", self.names[i])

    @staticmethod
    def address(i: int) -> str:
        return f"10.199.1.{i + 1}"

    def cut(self, i: int) -> None:
        """Pulls the cable of namespace i out of the bridge."""
        _ip("-n", self.hub, "link", "set", f"port{i}", "down")

    def mend(self, i: int) -> None:
        _ip("-n", self.hub, "link", "set", f"port{i}", "up")

    def part(self, *ends: int) -> None:
        """Cuts these nodes off from each other; all others still reach them."""
        for i in ends:
            _ip("-n", self.hub, "link", "set", "dev", f"port{i}", "type", "bridge_slave", "isolated", "on")


@contextmanager
def star(n: int) -> Iterator[Star]:
    """Made on entry, removed on exit. Raises VethUnavailableError."""
    _need_namespaces()
    made = Star(f"anello-hub-{os.getpid()}", tuple(f"anello-{i}-{os.getpid()}" for i in range(n)))
    try:
        for name in (made.hub, *made.names):
            _ip("netns", "add", name)
        _ip("-n", made.hub, "link", "add", "bridge", "type", "bridge")
        _ip("-n", made.hub, "link", "set", "bridge", "up")
        for i, name in enumerate(made.names):
            _ip("link", "add", f"port{i}", "netns", made.hub, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("-n", made.hub, "link", "set", f"port{i}", "master", "bridge", "up")
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "addr", "add", f"{made.address(i)}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
        yield made
    finally:
        for name in (made.hub, *made.names):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def _need_namespaces() -> None:
    if os.geteuid() != 0:
        raise VethUnavailableError("network namespaces need root")
    if not shutil.which("ip"):
        raise VethUnavailableError("there is no `ip` command (package iproute2)")


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise VethUnavailableError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
