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
    Register("identity.n_boards", 0x000C, 1, 0, 4, "read",
             "boards that the merger takes, 1 to 8: as the card was made"),
    Register("identity.n_lists", 0x0010, 1, 0, 32, "constant",
             "lists of buffers: one per stream, and that of merged events"),
    Register("identity.scratch", 0x0014, 1, 0, 32, "read, write",
             "keeps what is written; nothing reads it"),
    Register("control.enable", 0x0040, 1, 0, 1, "read, write",
             "0: frames that begin are not looked at, and not counted"),
    Register("control.promiscuous", 0x0044, 1, 0, 1, "read, write",
             "1: frames for other addresses are taken, too"),
    Register("control.cut_through", 0x0048, 1, 0, 1, "read, write",
             "1: payload leaves while its frame still comes; the completion reports a wrong checksum"),
    Register("control.merge", 0x004C, 1, 0, 1, "read, write",
             "1: datagrams that leave the receive path are merged, into list 16; 0: go to their streams' lists"),
    Register("control.flush", 0x0050, 1, 0, 1, "write",
             "all open buffers are closed"),
    Register("control.interrupt_enable", 0x0054, 1, 0, 2, "read, write",
             "bit 0: completions, bit 1: a page that the TLB has not"),
    Register("control.interrupt_status", 0x0058, 1, 0, 2, "read",
             "the same bits: 1 while the cause of the interrupt lasts"),
    Register("control.idle", 0x005C, 1, 0, 1, "read",
             "1: all that left the receive path, but what the merger keeps, is written and acknowledged"),
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
    Register("merger.boards", 0x0200, 1, 0, 8, "read, write",
             "mask of those in use; all others' datagrams are of an unknown source"),
    Register("merger.window", 0x0204, 1, 0, 8, "read, write",
             "ticks after an event's first fragment"),
    Register("merger.timeout", 0x0208, 1, 0, 32, "read, write",
             "cycles that are waited for a board, then it is silent; below 2^30"),
    Register("merger.far_fine_low", 0x020C, 1, 0, 32, "read, write",
             "how far time may go while fewer than half of the boards follow, 1/256 tick: time-out and window"),
    Register("merger.far_fine_high", 0x0210, 1, 0, 8, "read, write",
             "upper bits"),
    Register("merger.n_channels", 0x0214, 1, 0, 10, "read, write",
             "of a board; a hit of another is a wrong hit"),
    Register("merger.keep_incomplete", 0x0218, 1, 0, 1, "read, write",
             "0: events without all boards are counted and not written"),
    Register("merger.drop_when_full", 0x021C, 1, 0, 1, "read, write",
             "a packet for a full store is 1: dropped and counted, 0: waited with, which holds up all boards"),
    Register("merger.silent", 0x0220, 1, 0, 8, "read",
             "boards that are not waited for: nothing came from them for too long"),
    Register("merger.ended", 0x0224, 1, 0, 8, "read",
             "boards that have ended the burst"),
    Register("merger.fragments", 0x0228, 1, 0, 32, "read",
             "merged into events so far, modulo 2^32, those of rejected events among them"),
    Register("merger.hits", 0x022C, 1, 0, 32, "read",
             "in merged records so far, modulo 2^32"),
    Register("board.id", 0x0240, 8, 8, 16, "read, write",
             "source id in its packets"),
    Register("board.stream", 0x0244, 8, 8, 4, "read, write",
             "0 to 15"),
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
             "a buffer is handed on at most this many cycles after its first record; 0: with each record"),
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
    Register("count.datagrams_ok", 0x1064, 1, 0, 32, "read",
             "read by the merger; each has one verdict, the first of those in docs/reference/mgp.md"),
    Register("count.datagrams_too_short", 0x1068, 1, 0, 32, "read",
             "shorter than a header"),
    Register("count.datagrams_wrong_magic", 0x106C, 1, 0, 32, "read",
             "not an MGP packet"),
    Register("count.datagrams_wrong_version", 0x1070, 1, 0, 32, "read",
             "a version that the card does not know"),
    Register("count.datagrams_wrong_length", 0x1074, 1, 0, 32, "read",
             "length field differs from the datagram's length"),
    Register("count.datagrams_wrong_flags", 0x1078, 1, 0, 32, "read",
             "reserved bits, or flags that exclude each other"),
    Register("count.datagrams_unknown_source", 0x107C, 1, 0, 32, "read",
             "no board in use has this id on this stream"),
    Register("count.datagrams_wrong_checksum", 0x1080, 1, 0, 32, "read",
             "CRC-32C"),
    Register("count.datagrams_event_truncated", 0x1084, 1, 0, 32, "read",
             "an event reaches beyond the datagram"),
    Register("count.datagrams_wrong_event_count", 0x1088, 1, 0, 32, "read",
             "events differ from the number announced"),
    Register("count.datagrams_wrong_event_number", 0x108C, 1, 0, 32, "read",
             "always 0: MGP has no such number"),
    Register("count.datagrams_wrong_hit", 0x1090, 1, 0, 32, "read",
             "a channel that no board has"),
    Register("count.datagrams_too_many_hits", 0x1094, 1, 0, 32, "read",
             "always 0: an MGP event has at most 255"),
    Register("count.datagrams_bad_frame", 0x1098, 1, 0, 32, "read",
             "other bytes than its frame promised, or a check that failed too late; before all others"),
    Register("count.packets_dropped", 0x109C, 1, 0, 32, "read",
             "of good datagrams: a store had no room"),
    Register("count.events_complete", 0x10A0, 1, 0, 32, "read",
             "all boards in use"),
    Register("count.events_incomplete", 0x10A4, 1, 0, 32, "read",
             "some board missing"),
    Register("count.events_rejected", 0x10A8, 1, 0, 32, "read",
             "of the incomplete ones those not written"),
    Register("count.bursts_begun", 0x10AC, 1, 0, 32, "read",
             "their first fragments were there"),
    Register("count.bursts_ended", 0x10B0, 1, 0, 32, "read",
             "each with a record of its own"),
    Register("count.late_0", 0x10B4, 1, 0, 32, "read",
             "fragments whose time, or burst, was over"),
    Register("count.late_1", 0x10B8, 1, 0, 32, "read",
             "fragments whose time, or burst, was over"),
    Register("count.late_2", 0x10BC, 1, 0, 32, "read",
             "fragments whose time, or burst, was over"),
    Register("count.late_3", 0x10C0, 1, 0, 32, "read",
             "fragments whose time, or burst, was over"),
    Register("count.late_4", 0x10C4, 1, 0, 32, "read",
             "fragments whose time, or burst, was over"),
    Register("count.late_5", 0x10C8, 1, 0, 32, "read",
             "fragments whose time, or burst, was over"),
    Register("count.late_6", 0x10CC, 1, 0, 32, "read",
             "fragments whose time, or burst, was over"),
    Register("count.late_7", 0x10D0, 1, 0, 32, "read",
             "fragments whose time, or burst, was over"),
    Register("count.duplicate_0", 0x10D4, 1, 0, 32, "read",
             "fragments of a board that had one in the event already"),
    Register("count.duplicate_1", 0x10D8, 1, 0, 32, "read",
             "fragments of a board that had one in the event already"),
    Register("count.duplicate_2", 0x10DC, 1, 0, 32, "read",
             "fragments of a board that had one in the event already"),
    Register("count.duplicate_3", 0x10E0, 1, 0, 32, "read",
             "fragments of a board that had one in the event already"),
    Register("count.duplicate_4", 0x10E4, 1, 0, 32, "read",
             "fragments of a board that had one in the event already"),
    Register("count.duplicate_5", 0x10E8, 1, 0, 32, "read",
             "fragments of a board that had one in the event already"),
    Register("count.duplicate_6", 0x10EC, 1, 0, 32, "read",
             "fragments of a board that had one in the event already"),
    Register("count.duplicate_7", 0x10F0, 1, 0, 32, "read",
             "fragments of a board that had one in the event already"),
    Register("count.ahead_0", 0x10F4, 1, 0, 32, "read",
             "fragments that no other board followed"),
    Register("count.ahead_1", 0x10F8, 1, 0, 32, "read",
             "fragments that no other board followed"),
    Register("count.ahead_2", 0x10FC, 1, 0, 32, "read",
             "fragments that no other board followed"),
    Register("count.ahead_3", 0x1100, 1, 0, 32, "read",
             "fragments that no other board followed"),
    Register("count.ahead_4", 0x1104, 1, 0, 32, "read",
             "fragments that no other board followed"),
    Register("count.ahead_5", 0x1108, 1, 0, 32, "read",
             "fragments that no other board followed"),
    Register("count.ahead_6", 0x110C, 1, 0, 32, "read",
             "fragments that no other board followed"),
    Register("count.ahead_7", 0x1110, 1, 0, 32, "read",
             "fragments that no other board followed"),
    Register("count.missing_0", 0x1114, 1, 0, 32, "read",
             "events without it"),
    Register("count.missing_1", 0x1118, 1, 0, 32, "read",
             "events without it"),
    Register("count.missing_2", 0x111C, 1, 0, 32, "read",
             "events without it"),
    Register("count.missing_3", 0x1120, 1, 0, 32, "read",
             "events without it"),
    Register("count.missing_4", 0x1124, 1, 0, 32, "read",
             "events without it"),
    Register("count.missing_5", 0x1128, 1, 0, 32, "read",
             "events without it"),
    Register("count.missing_6", 0x112C, 1, 0, 32, "read",
             "events without it"),
    Register("count.missing_7", 0x1130, 1, 0, 32, "read",
             "events without it"),
    Register("count.silenced_0", 0x1134, 1, 0, 32, "read",
             "times that it was given up waiting for"),
    Register("count.silenced_1", 0x1138, 1, 0, 32, "read",
             "times that it was given up waiting for"),
    Register("count.silenced_2", 0x113C, 1, 0, 32, "read",
             "times that it was given up waiting for"),
    Register("count.silenced_3", 0x1140, 1, 0, 32, "read",
             "times that it was given up waiting for"),
    Register("count.silenced_4", 0x1144, 1, 0, 32, "read",
             "times that it was given up waiting for"),
    Register("count.silenced_5", 0x1148, 1, 0, 32, "read",
             "times that it was given up waiting for"),
    Register("count.silenced_6", 0x114C, 1, 0, 32, "read",
             "times that it was given up waiting for"),
    Register("count.silenced_7", 0x1150, 1, 0, 32, "read",
             "times that it was given up waiting for"),
)
# fmt: on
BY_NAME: Final = {register.name: register for register in REGISTERS}

# Before each datagram, or some merged events, in a buffer, at a multiple of 64 bytes; what follows it is the payload.
# In list 16 that is merged events one after the other, as many as `length` says: the card puts those into one record
# that come while it writes the last one.
RECORD_HEADER: Final = np.dtype(
    [
        ("length", "<u2"),  # bytes of the payload
        ("stream", "<u1"),  # 0 to 15, or 16: merged events
        ("flags", "<u1"),  # bit 0: a check failed (cut-through); 1: a burst ends; 2: other than `length` bytes came
        ("source_ip", "<u4"),  # IPv4 address of the sender; 0: merged events
        ("source_port", "<u2"),  # UDP port of the sender; 0: merged events
        ("reserved_0", "<u2"),  # 0
        ("first_beat", "<u4"),  # cycle of the frame's first beat; merged: of the newest datagram read by then
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
        ("parsed", "<u4"),  # cycle: its first word left the receive path; merged events: that newest datagram was read
        ("merged", "<u4"),  # cycle: its first word left the merger; 0 without
        ("last_write", "<u4"),  # cycle: the last write was acknowledged
    ]
)

# How a merged event begins. With identity.n_boards > 4, `merged_event_upper` follows. Then hits, board by board, each
# board's filled up to a multiple of 8 bytes: 16 bits, of them 0 to 8 the channel and 9 to 15 the time in 1/64 tick from
# its fragment's, signed. The end of a burst has flag 7, the burst, and no fragments.
MERGED_EVENT: Final = np.dtype(
    [
        ("timestamp", "<u4"),  # of its first fragment, ticks
        ("burst", "<u4"),  # its number
        ("n_hits", "<u4"),  # of boards 0 to 3, 8 bits each, board 0 lowest
        ("fine_time", "<u1"),  # of its first fragment, 1/256 tick
        ("flags", "<u1"),  # bit 0: incomplete; 7: the end of the burst
        ("missing", "<u1"),  # mask of boards in use without a fragment
        ("n_boards", "<u1"),  # in use
        ("offsets", "<u8"),  # when the fragments of boards 0 to 3 came after the first one, 16 bits each, 1/256 tick
    ]
)

# The same of boards 4 to 7.
MERGED_EVENT_UPPER: Final = np.dtype(
    [
        ("n_hits", "<u4"),  # 8 bits each
        ("reserved", "<u4"),  # 0
        ("offsets", "<u8"),  # 16 bits each
    ]
)
