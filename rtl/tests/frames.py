# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames for the tests, and what the receive path must make of them: a reference written from the RFCs."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

OWN_MAC = 0x02_AE_00_12_34_56
OWN_IP = 0xC0_A8_01_0A
PEER_MAC = 0x02_BB_CC_DD_EE_0F
PEER_IP = 0xC0_A8_01_63
BROADCAST = 0xFFFF_FFFF_FFFF
PORTS = {0: 50000, 1: 50001, 2: 50002, 7: 6666, 15: 65535}  # stream: port

COUNTS = [
    "accepted",
    "bad_fcs",
    "truncated",
    "wrong_mac",
    "arp",
    "not_ipv4",
    "bad_ip_checksum",
    "fragment",
    "icmp",
    "not_udp",
    "unknown_port",
    "overflow",
    "bad_udp_checksum",
    "arp_answered",
    "echo_answered",
    "reply_overflow",
]


def ones_sum(data: bytes) -> int:
    """One's complement sum of big-endian 16-bit words, an odd last byte padded with 0."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def mac_bytes(mac: int) -> bytes:
    return mac.to_bytes(6, "big")


def ethernet(
    payload: bytes,
    ethertype: int = 0x0800,
    dst: int = OWN_MAC,
    vlan: int | None = None,
    pad: bool = True,
    src: int = PEER_MAC,
) -> bytes:
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    frame = mac_bytes(dst) + mac_bytes(src) + tag + struct.pack(">H", ethertype) + payload
    return frame.ljust(60, b"\xa5") if pad else frame  # padding, which no checksum may include


def ipv4(
    payload: bytes,
    protocol: int = 17,
    options: bytes = b"",
    flags: int = 0x4000,
    src: int = PEER_IP,
    dst: int = OWN_IP,
    checksum_xor: int = 0,
    total: int | None = None,
    ttl: int = 57,
    version: int = 4,
    ihl: int | None = None,
) -> bytes:
    words = 5 + len(options) // 4 if ihl is None else ihl
    total = 20 + len(options) + len(payload) if total is None else total
    head = (
        struct.pack(">BBHHHBBHII", version << 4 | words, 0, total, 0x1C46, flags, ttl, protocol, 0, src, dst) + options
    )
    checksum = (ones_sum(head) ^ 0xFFFF) ^ checksum_xor
    return head[:10] + struct.pack(">H", checksum) + head[12:] + payload


def udp(
    data: bytes,
    dst_port: int = 50000,
    src_port: int = 4321,
    checksum: int | None = None,
    checksum_xor: int = 0,
    length: int | None = None,
    src: int = PEER_IP,
    dst: int = OWN_IP,
) -> bytes:
    length = 8 + len(data) if length is None else length
    head = struct.pack(">HHHH", src_port, dst_port, length, 0)
    if checksum is None:
        pseudo = struct.pack(">IIBBH", src, dst, 0, 17, length)
        checksum = (ones_sum(pseudo + head + data) ^ 0xFFFF) or 0xFFFF
        checksum ^= checksum_xor
    return head[:6] + struct.pack(">H", checksum) + data


def udp_frame(
    data: bytes,
    vlan: int | None = None,
    options: bytes = b"",
    dst: int = OWN_MAC,
    pad: bool = True,
    dst_port: int = 50000,
    src_port: int = 4321,
) -> bytes:
    return ethernet(ipv4(udp(data, dst_port, src_port), options=options), vlan=vlan, dst=dst, pad=pad)


def arp_request(
    target: int = OWN_IP, dst: int = BROADCAST, vlan: int | None = None, pad: bool = True, op: int = 1
) -> bytes:
    body = struct.pack(">HHBBH", 1, 0x0800, 6, 4, op) + mac_bytes(PEER_MAC) + struct.pack(">I", PEER_IP)
    return ethernet(body + bytes(6) + struct.pack(">I", target), 0x0806, dst, vlan, pad)


def echo_request(
    data: bytes,
    vlan: int | None = None,
    pad: bool = True,
    ttl: int = 57,
    kind: int = 8,
    dst: int = OWN_MAC,
    dst_ip: int = OWN_IP,
    options: bytes = b"",
    flags: int = 0x4000,
    checksum_xor: int = 0,
    total: int | None = None,
) -> bytes:
    body = struct.pack(">BBHHH", kind, 0, 0, 0x55AA, 7) + data
    body = body[:2] + struct.pack(">H", ones_sum(body) ^ 0xFFFF) + body[4:]
    packet = ipv4(body, 1, options, flags, ttl=ttl, dst=dst_ip, checksum_xor=checksum_xor, total=total)
    return ethernet(packet, vlan=vlan, pad=pad, dst=dst)


@dataclass
class Outcome:
    """Outcome of a frame: its verdict, and the payload that cut-through delivers for any verdict."""

    verdict: str
    payload: bytes = b""
    admitted: bool = False
    side: tuple[int, int, int, int] = (0, 0, 0, 0)  # stream, src_ip, src_port, length
    reply: bytes | None = None


@dataclass
class Card:
    """The receive path's rules, one frame at a time; overflow is not known here."""

    promiscuous: bool = False
    ports: dict[int, int] = field(default_factory=lambda: dict(PORTS))

    def judge(self, frame: bytes, bad_fcs: bool = False) -> Outcome:
        outcome = self._judge(frame)
        if bad_fcs:
            outcome.verdict = "bad_fcs"
            outcome.reply = None
        return outcome

    def _judge(self, frame: bytes) -> Outcome:
        if len(frame) < 15 or (frame[12:14] == b"\x81\0" and len(frame) < 19):
            return Outcome("truncated")
        dst = int.from_bytes(frame[:6], "big")
        to_us = dst in (OWN_MAC, BROADCAST)
        at = 18 if frame[12:14] == b"\x81\0" else 14
        ethertype = int.from_bytes(frame[at - 2 : at], "big")
        body = frame[at:]
        if not (to_us or self.promiscuous):
            return Outcome("wrong_mac")
        if ethertype == 0x0806:
            return Outcome("arp", reply=self._arp_reply(frame, at) if to_us else None)
        if ethertype != 0x0800 or body[0] >> 4 != 4 or body[0] & 15 < 5:
            return Outcome("not_ipv4")
        head = 4 * (body[0] & 15)
        if len(body) < head + 8:
            return Outcome("truncated")
        if ones_sum(body[:head]) != 0xFFFF:
            return Outcome("bad_ip_checksum")
        total, _, flags = struct.unpack(">HHH", body[2:8])
        if flags & 0x3FFF:
            return Outcome("fragment")
        if body[9] == 1:
            return Outcome("icmp", reply=self._echo_reply(frame, at) if dst == OWN_MAC else None)
        if body[9] != 17:
            return Outcome("not_udp")
        datagram = body[head:]
        src_port, dst_port, length, checksum = struct.unpack(">HHHH", datagram[:8])
        if length < 8 or length > total - head:
            return Outcome("truncated")
        streams = [stream for stream, port in sorted(self.ports.items()) if port == dst_port]
        if not streams:
            return Outcome("unknown_port")
        src_ip = int.from_bytes(body[12:16], "big")
        outcome = Outcome("accepted", datagram[8:length], True, (streams[0], src_ip, src_port, length - 8))
        if length > len(datagram):
            outcome.verdict = "truncated"
            outcome.payload = outcome.payload[: len(outcome.payload) // 8 * 8]  # whole words, then an empty last beat
        elif checksum and ones_sum(body[12:20] + struct.pack(">HH", 17, length) + datagram[:length]) != 0xFFFF:
            outcome.verdict = "bad_udp_checksum"
        return outcome

    def _arp_reply(self, frame: bytes, at: int) -> bytes | None:
        body = frame[at:]
        if len(body) < 28 or body[:8] != bytes.fromhex("0001080006040001") or body[24:28] != OWN_IP.to_bytes(4, "big"):
            return None
        peer = frame[6:12]
        answer = bytes.fromhex("0001080006040002") + mac_bytes(OWN_MAC) + OWN_IP.to_bytes(4, "big") + peer + body[14:18]
        return (peer + mac_bytes(OWN_MAC) + frame[12:at] + answer).ljust(60, b"\0")

    def _echo_reply(self, frame: bytes, at: int) -> bytes | None:
        body = bytearray(frame[at:])
        total = int.from_bytes(body[2:4], "big")
        if body[0] != 0x45 or body[20:22] != b"\x08\0" or body[16:20] != OWN_IP.to_bytes(4, "big"):
            return None
        if total < 28 or len(body) < total:
            return None
        body[12:16], body[16:20] = body[16:20], body[12:16]
        body[8], body[10:12] = 64, b"\0\0"
        body[10:12] = (ones_sum(bytes(body[:20])) ^ 0xFFFF).to_bytes(2, "big")
        # The old checksum may be wrong, and stays as wrong: only the type's change is added.
        body[20] = 0
        changed = int.from_bytes(body[22:24], "big") + 0x0800
        body[22:24] = ((changed & 0xFFFF) + (changed >> 16)).to_bytes(2, "big")
        return (frame[6:12] + mac_bytes(OWN_MAC) + frame[12:at] + bytes(body)).ljust(60, b"\0")
