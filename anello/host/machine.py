# SPDX-License-Identifier: Apache-2.0
"""This machine's facts, read through system calls. Everything is released; nothing is changed."""

import os
import resource
import socket
from collections.abc import Mapping
from types import ModuleType

from anello.errors import EngineMissingError
from anello.host import ethtool, prices, receive_cost
from anello.host.host import CannotTell, PageCost, ReceiveCost
from anello.system import link

SO_RCVBUFFORCE = 33


class ThisMachine:
    """The Machine that the command examines."""

    def interface_with(self, address: str) -> str:
        return link.interface_with(address)

    def features(self, interface: str) -> Mapping[str, bool]:
        return ethtool.features(interface)

    def rx_ring(self, interface: str) -> tuple[int, int]:
        return ethtool.rx_ring(interface)

    def socket_buffer(self, wanted_bytes: int) -> int:
        """The buffer that a socket gets. The request is made as the engine makes it: beyond the limit where that is
        permitted. The kernel reports twice the size that it grants."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
            wanted_bytes = min(wanted_bytes, 2**30 - 1)
            try:
                trial.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, wanted_bytes)
            except PermissionError:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, wanted_bytes)
            return trial.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2

    def udp_gso(self) -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
            try:
                trial.setsockopt(socket.IPPROTO_UDP, receive_cost.UDP_SEGMENT, 1024)
            except OSError:
                return False
        return True

    def memory_lock_bytes(self) -> int | None:
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        return None if soft == resource.RLIM_INFINITY else soft

    def allowed_cores(self) -> frozenset[int]:
        return frozenset(os.sched_getaffinity(0))

    def is_real_time(self) -> bool:
        return os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR)

    def huge_page_refusal(self) -> str:
        return prices.huge_page_refusal()

    def receive_backends(self, interface: str) -> list[dict[str, object]]:
        backends = getattr(_engine(), "receive_backends", None)
        if backends is None:
            raise CannotTell("this build of the engine does not tell")
        try:
            found: list[dict[str, object]] = backends(interface)
        except (ValueError, RuntimeError) as error:
            raise CannotTell(str(error)) from error
        return found

    def fabric_transports(self) -> list[dict[str, object]]:
        transports = getattr(_engine(), "fabric_transports", None)
        if transports is None:
            raise CannotTell("this build of the engine does not tell")
        found: list[dict[str, object]] = transports()
        return found

    def cuda_refusal(self) -> str:
        return str(_engine().cuda_unavailable_reason())

    def hiccup_s(self) -> float:
        return prices.hiccup_s()

    def real_time_delays_s(self) -> tuple[float, float] | None:
        return prices.real_time_delays_s()

    def wake_up_s(self) -> float:
        return prices.wake_up_s()

    def clock_ns(self) -> float:
        return prices.clock_ns()

    def page_cost(self) -> PageCost:
        return prices.page_cost()

    def receive_cost(self) -> ReceiveCost:
        return receive_cost.measure()


def _engine() -> ModuleType:
    try:
        from anello.engine import _engine as engine
    except EngineMissingError as error:
        raise CannotTell(str(error)) from error
    return engine
