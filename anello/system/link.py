# SPDX-License-Identifier: Apache-2.0
"""The network interface that leads to a host: a rate means little without it."""

import array
import fcntl
import socket
import struct
from contextlib import suppress
from pathlib import Path

SIOCGIFADDR, SIOCETHTOOL, ETHTOOL_GDRVINFO = 0x8915, 0x8946, 3  # linux/sockios.h, linux/ethtool.h
DRIVER_INFO_BYTES = 196
DISCARD_PORT = 9  # a port to which nothing is sent


def interface_to(host: str) -> str:
    """The interface for datagrams to an IPv4 host, e.g. `loopback (lo)`; empty if there is no route."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, DISCARD_PORT))
        local, peer = probe.getsockname()[0], probe.getpeername()[0]
        if local == peer or local.startswith("127."):  # the system reaches its own addresses by loopback
            return kind_of("lo")
        name = interface_with(local)
        return kind_of(name) if name else ""
    return ""


def interface_with(address: str) -> str:
    """The interface that has this IPv4 address; empty when none has."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            if _address_of(probe, name) == address:
                return name
    return ""


def kind_of(name: str) -> str:
    """loopback, veth, NIC with its driver, or the driver of another virtual interface; and the name."""
    if name == "lo":
        return "loopback (lo)"
    driver = _driver_of(name)
    if Path("/sys/class/net", name, "device").exists():
        return f"NIC ({name}, driver {driver or 'unknown'})"
    return f"{driver or 'virtual interface'} ({name})"


def _address_of(probe: socket.socket, name: str) -> str:
    with suppress(OSError):
        answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        return socket.inet_ntoa(answer[20:24])
    return ""


def _driver_of(name: str) -> str:
    """The driver's name as in `ethtool -i`; empty where there is none."""
    info = array.array("B", struct.pack("I", ETHTOOL_GDRVINFO) + bytes(DRIVER_INFO_BYTES - 4))
    request = struct.pack("16sP", name.encode()[:15], info.buffer_info()[0])
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe.fileno(), SIOCETHTOOL, request)
        return info.tobytes()[4:36].partition(b"\0")[0].decode(errors="replace")
    return ""
