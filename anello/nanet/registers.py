# SPDX-License-Identifier: Apache-2.0
# Made by rtl/registers/make_registers.py from registers.yaml.
"""Registers and records of the card: docs/reference/nanet-io.md."""

from dataclasses import dataclass
from typing import Final

import numpy as np


@dataclass(frozen=True)
class Register:
    """n: so many of them, stride bytes apart."""

    name: str
    address: int
    n: int
    stride: int
    bits: int
    access: str
    about: str

    def at(self, index: int = 0) -> int:
        """Raises IndexError."""
        if not 0 <= index < self.n:
            raise IndexError(f"{self.name} {index}: there are {self.n}")
        return self.address + index * self.stride


# fmt: off
REGISTERS: Final = (
    Register("identity.magic", 0x0000, 1, 0, 32, "constant",
             "\"NANO\" in memory: the card is there"),
    Register("identity.version", 0x0004, 1, 0, 32, "constant",
             "of this page: major, minor in 16 bits each"),
    Register("identity.n_streams", 0x0008, 1, 0, 32, "constant",
             "UDP streams"),
    Register("identity.n_boards", 0x000C, 1, 0, 32, "constant",
             "boards that the merger takes"),
    Register("identity.n_lists", 0x0010, 1, 0, 32, "constant",
             "lists of buffers: one per stream, and that of merged events"),
    Register("identity.scratch", 0x0014, 1, 0, 32, "read, write",
             "keeps what is written; nothing reads it"),
    Register("control.enable", 0x0040, 1, 0, 1, "read, write",
             "0: frames that begin are not looked at, and not counted"),
    Register("control.promiscuous", 0x0044, 1, 0, 1, "read, write",
             "1: frames for other addresses are taken, too"),
    Register("control.cut_through", 0x0048, 1, 0, 1, "read, write",
             "1: payload leaves while its frame still comes; a wrong checksum is told in the completion"),
    Register("control.merge", 0x004C, 1, 0, 1, "read, write",
             "1: the card merges the boards' fragments by time (not joined yet); 0: datagrams as they came"),
    Register("control.flush", 0x0050, 1, 0, 1, "write",
             "all open buffers are closed"),
    Register("control.interrupt_enable", 0x0054, 1, 0, 2, "read, write",
             "bit 0: completions, bit 1: a page that the TLB has not"),
    Register("control.interrupt_status", 0x0058, 1, 0, 2, "read",
             "likewise; the cause takes it away"),
    Register("control.idle", 0x005C, 1, 0, 1, "read",
             "1: all that left the receive path is written and acknowledged"),
    Register("address.mac_low", 0x0080, 1, 0, 32, "read, write",
             "lower 32 bits of the MAC address, its last byte lowest"),
    Register("address.mac_high", 0x0084, 1, 0, 16, "read, write",
             "upper 16 bits"),
    Register("address.ip", 0x0088, 1, 0, 32, "read, write",
             "IPv4 address, 10.0.0.1 is 0x0A000001; ARP and ICMP echo are answered for it"),
    Register("stream.port", 0x0100, 16, 4, 17, "read, write",
             "bits 15..0: UDP port; bit 16: the entry counts"),
    Register("clock.now", 0x0180, 1, 0, 32, "read",
             "cycle counter, which all stamps are of"),
    Register("ring.base_low", 0x01C0, 1, 0, 32, "read, write",
             "virtual address, a multiple of 64"),
    Register("ring.base_high", 0x01C4, 1, 0, 32, "read, write",
             "upper half"),
    Register("ring.size_log2", 0x01C8, 1, 0, 5, "read, write",
             "entries of 32 bytes: 2^n"),
    Register("ring.head", 0x01CC, 1, 0, 32, "read",
             "completions written so far"),
    Register("ring.tail", 0x01D0, 1, 0, 32, "read, write",
             "completions that the host has read"),
    Register("page.missing", 0x01E0, 1, 0, 32, "read",
             "virtual address / 65536, while bit 1 of interrupt_status is 1"),
    Register("list.base_low", 0x0400, 17, 32, 32, "read, write",
             "virtual address, a multiple of 4096"),
    Register("list.base_high", 0x0404, 17, 32, 32, "read, write",
             "upper half"),
    Register("list.buffer_bytes", 0x0408, 17, 32, 24, "read, write",
             "of each, a multiple of 4096"),
    Register("list.n_buffers", 0x040C, 17, 32, 7, "read, write",
             "1 to 64; 0: the list is closed"),
    Register("list.max_records", 0x0410, 17, 32, 16, "read, write",
             "a buffer is handed on with so many; 0: as many as fit"),
    Register("list.gathering_cycles", 0x0414, 17, 32, 24, "read, write",
             "it is handed on at latest so long after its first record; 0: with each record"),
    Register("list.overwrite", 0x0418, 17, 32, 1, "read, write",
             "where no buffer is free 1: the oldest is written over, 0: the record is dropped"),
    Register("list.credit", 0x041C, 17, 32, 7, "read, write",
             "each write gives so many buffers back"),
    Register("tlb.virtual_page", 0x0800, 16, 16, 32, "read, write",
             "virtual address / 65536"),
    Register("tlb.physical_page_low", 0x0804, 16, 16, 32, "read, write",
             "physical address / 65536, lower half"),
    Register("tlb.physical_page_high", 0x0808, 16, 16, 16, "read, write",
             "upper half"),
    Register("tlb.valid", 0x080C, 16, 16, 1, "read, write",
             "1: the entry counts; write it last"),
    Register("count.frames_accepted", 0x1000, 1, 0, 32, "read",
             "their payload went on"),
    Register("count.frames_bad_fcs", 0x1004, 1, 0, 32, "read",
             "the MAC said so"),
    Register("count.frames_truncated", 0x1008, 1, 0, 32, "read",
             "shorter than their headers say"),
    Register("count.frames_wrong_mac", 0x100C, 1, 0, 32, "read",
             "for another address"),
    Register("count.frames_arp", 0x1010, 1, 0, 32, "read",
             "ARP"),
    Register("count.frames_not_ipv4", 0x1014, 1, 0, 32, "read",
             "another protocol"),
    Register("count.frames_bad_ip_checksum", 0x1018, 1, 0, 32, "read",
             "IPv4 header"),
    Register("count.frames_fragment", 0x101C, 1, 0, 32, "read",
             "part of a fragmented datagram"),
    Register("count.frames_icmp", 0x1020, 1, 0, 32, "read",
             "ICMP"),
    Register("count.frames_not_udp", 0x1024, 1, 0, 32, "read",
             "another protocol above IPv4"),
    Register("count.frames_unknown_port", 0x1028, 1, 0, 32, "read",
             "no stream has it"),
    Register("count.frames_overflow", 0x102C, 1, 0, 32, "read",
             "the payload buffer was full"),
    Register("count.frames_bad_udp_checksum", 0x1030, 1, 0, 32, "read",
             "with cut-through it went on, marked"),
    Register("count.arp_answered", 0x1034, 1, 0, 32, "read",
             "requests for our address"),
    Register("count.echo_answered", 0x1038, 1, 0, 32, "read",
             "ICMP echo"),
    Register("count.replies_overflow", 0x103C, 1, 0, 32, "read",
             "requests without room for an answer"),
    Register("count.records_written", 0x1040, 1, 0, 32, "read",
             "all of them in a buffer"),
    Register("count.records_dropped", 0x1044, 1, 0, 32, "read",
             "no buffer was free"),
    Register("count.records_too_long", 0x1048, 1, 0, 32, "read",
             "longer than a buffer"),
    Register("count.buffers_overwritten", 0x104C, 1, 0, 32, "read",
             "full ones that the host had not taken"),
    Register("count.completions", 0x1050, 1, 0, 32, "read",
             "written to the ring"),
    Register("count.ring_full", 0x1054, 1, 0, 32, "read",
             "cycles that a completion waited for room"),
    Register("count.tlb_misses", 0x1058, 1, 0, 32, "read",
             "pages that were not there"),
    Register("count.tlb_stalls", 0x105C, 1, 0, 32, "read",
             "cycles that were waited for them"),
    Register("count.writes_failed", 0x1060, 1, 0, 32, "read",
             "the bus answered a write with an error"),
)
# fmt: on
BY_NAME: Final = {register.name: register for register in REGISTERS}

# Before each datagram or event in a buffer, at a multiple of 64 bytes; what follows it is the payload.
RECORD_HEADER: Final = np.dtype(
    [
        ("length", "<u2"),  # bytes of the payload
        ("stream", "<u1"),  # 0 to 15, or 16: merged events
        ("flags", "<u1"),  # bit 0: a check failed (cut-through); 1: end of a burst; 2: other than `length` bytes came
        ("source_ip", "<u4"),  # IPv4 address of the sender
        ("source_port", "<u2"),  # UDP port of the sender
        ("reserved_0", "<u2"),  # 0
        ("first_beat", "<u4"),  # cycle of the frame's first beat
        ("last_beat", "<u4"),  # cycle of the payload's last beat
        ("reserved_1", "<u4", 3),  # 0
    ]
)

# A buffer that is the host's now. Written after all of the buffer's data have been acknowledged.
COMPLETION: Final = np.dtype(
    [
        ("list", "<u1"),  # 0 to 16
        ("buffer", "<u1"),  # number in its list
        ("reason", "<u1"),  # 1 full, 2 max_records, 3 gathering time, 4 end of burst, 5 flush; bit 7: some write failed
        ("phase", "<u1"),  # 1 in the ring's first round, 0 in the second, and so on
        ("n_records", "<u2"),  # in the buffer
        ("n_bad", "<u2"),  # of them with flag bit 0 or 2
        ("used_bytes", "<u4"),  # of the buffer
        ("number", "<u4"),  # of the completion, from 0
        ("first_beat", "<u4"),  # cycle: first beat of the first record
        ("parsed", "<u4"),  # cycle: its first word left the receive path
        ("merged", "<u4"),  # cycle: it left the merger; 0 without
        ("last_write", "<u4"),  # cycle: the last write was acknowledged
    ]
)
