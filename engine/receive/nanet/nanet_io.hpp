// SPDX-License-Identifier: Apache-2.0
// Made by rtl/registers/make_registers.py from registers.yaml.
// clang-format off
#pragma once

#include <cstdint>

/// Registers and records of the card: docs/reference/nanet-io.md.
namespace anello::nanet {

namespace identity {  // Who this is.
inline constexpr std::uint32_t magic = 0x0000;  ///< "NANO" in memory: the card is there
inline constexpr std::uint32_t version = 0x0004;  ///< of this page: major, minor in 16 bits each
inline constexpr std::uint32_t n_streams = 0x0008;  ///< UDP streams
inline constexpr std::uint32_t n_boards = 0x000c;  ///< boards that the merger takes, 1 to 8: as the card was made
inline constexpr std::uint32_t n_lists = 0x0010;  ///< lists of buffers: one per stream, and that of merged events
inline constexpr std::uint32_t scratch = 0x0014;  ///< keeps what is written; nothing reads it
}  // namespace identity

namespace control {  // What the whole card does.
inline constexpr std::uint32_t enable = 0x0040;  ///< 0: frames that begin are not looked at, and not counted
inline constexpr std::uint32_t promiscuous = 0x0044;  ///< 1: frames for other addresses are taken, too
inline constexpr std::uint32_t cut_through = 0x0048;  ///< 1: payload leaves while its frame still comes; the completion reports a wrong checksum
inline constexpr std::uint32_t merge = 0x004c;  ///< 1: datagrams that leave the receive path are merged, into list 16; 0: go to their streams' lists
inline constexpr std::uint32_t flush = 0x0050;  ///< all open buffers are closed
inline constexpr std::uint32_t interrupt_enable = 0x0054;  ///< bit 0: completions, bit 1: a page that the TLB has not
inline constexpr std::uint32_t interrupt_status = 0x0058;  ///< the same bits: 1 while the cause of the interrupt lasts
inline constexpr std::uint32_t idle = 0x005c;  ///< 1: all that left the receive path, but what the merger keeps, is written and acknowledged
}  // namespace control

namespace address {  // Who the card is on the network.
inline constexpr std::uint32_t mac_low = 0x0080;  ///< lower 32 bits of the MAC address, its last byte lowest
inline constexpr std::uint32_t mac_high = 0x0084;  ///< upper 16 bits
inline constexpr std::uint32_t ip = 0x0088;  ///< IPv4 address, 10.0.0.1 is 0x0A000001; ARP and ICMP echo are answered for it
}  // namespace address

namespace stream {  // Which destination port is which stream.
inline constexpr std::uint32_t n = 16, stride = 0x4;
inline constexpr std::uint32_t port = 0x0100;  ///< bits 15..0: UDP port; bit 16: the entry counts
}  // namespace stream

namespace clock {  // Cycles of 6.4 ns at 156.25 MHz.
inline constexpr std::uint32_t now = 0x0180;  ///< cycle counter, which all stamps are of
}  // namespace clock

namespace merger {  // How fragments are merged: the rules and their names are those of docs/reference/configuration.md. To be written while merge is 0.
inline constexpr std::uint32_t boards = 0x0200;  ///< mask of those in use; all others' datagrams are of an unknown source
inline constexpr std::uint32_t window = 0x0204;  ///< ticks after an event's first fragment
inline constexpr std::uint32_t timeout = 0x0208;  ///< cycles that are waited for a board, then it is silent; below 2^30
inline constexpr std::uint32_t far_fine_low = 0x020c;  ///< how far time may go while fewer than half of the boards follow, 1/256 tick: time-out and window
inline constexpr std::uint32_t far_fine_high = 0x0210;  ///< upper bits
inline constexpr std::uint32_t n_channels = 0x0214;  ///< of a board; a hit of another is a wrong hit
inline constexpr std::uint32_t keep_incomplete = 0x0218;  ///< 0: events without all boards are counted and not written
inline constexpr std::uint32_t drop_when_full = 0x021c;  ///< a packet for a full store is 1: dropped and counted, 0: waited with, which holds up all boards
inline constexpr std::uint32_t silent = 0x0220;  ///< boards that are not waited for: nothing came from them for too long
inline constexpr std::uint32_t ended = 0x0224;  ///< boards that have ended the burst
inline constexpr std::uint32_t fragments = 0x0228;  ///< merged into events so far, modulo 2^32, those of rejected events among them
inline constexpr std::uint32_t hits = 0x022c;  ///< in merged records so far, modulo 2^32
}  // namespace merger

namespace board {  // Whose fragments are whose: a board's datagrams come on its stream with its source id.
inline constexpr std::uint32_t n = 8, stride = 0x8;
inline constexpr std::uint32_t id = 0x0240;  ///< source id in its packets
inline constexpr std::uint32_t stream = 0x0244;  ///< 0 to 15
}  // namespace board

namespace ring {  // Where completions are written.
inline constexpr std::uint32_t base_low = 0x01c0;  ///< virtual address, a multiple of 64
inline constexpr std::uint32_t base_high = 0x01c4;  ///< upper half
inline constexpr std::uint32_t size_log2 = 0x01c8;  ///< entries of 32 bytes: 2^n
inline constexpr std::uint32_t head = 0x01cc;  ///< completions written so far
inline constexpr std::uint32_t tail = 0x01d0;  ///< completions that the host has read
}  // namespace ring

namespace page {  // Which page the card waits for.
inline constexpr std::uint32_t missing = 0x01e0;  ///< virtual address / 65536, while bit 1 of interrupt_status is 1
}  // namespace page

namespace list {  // Circular lists of persistent buffers (CLOPs): of streams 0 to 15, and of merged events (16).
inline constexpr std::uint32_t n = 17, stride = 0x20;
inline constexpr std::uint32_t base_low = 0x0400;  ///< virtual address, a multiple of 4096
inline constexpr std::uint32_t base_high = 0x0404;  ///< upper half
inline constexpr std::uint32_t buffer_bytes = 0x0408;  ///< of each, a multiple of 4096
inline constexpr std::uint32_t n_buffers = 0x040c;  ///< 1 to 64; 0: the list is closed
inline constexpr std::uint32_t max_records = 0x0410;  ///< a buffer is handed on with so many; 0: as many as fit
inline constexpr std::uint32_t gathering_cycles = 0x0414;  ///< a buffer is handed on at most this many cycles after its first record; 0: with each record
inline constexpr std::uint32_t overwrite = 0x0418;  ///< where no buffer is free 1: the oldest is written over, 0: the record is dropped
inline constexpr std::uint32_t credit = 0x041c;  ///< each write gives so many buffers back
}  // namespace list

namespace tlb {  // Pages of 64 kB that the card may write to.
inline constexpr std::uint32_t n = 16, stride = 0x10;
inline constexpr std::uint32_t virtual_page = 0x0800;  ///< virtual address / 65536
inline constexpr std::uint32_t physical_page_low = 0x0804;  ///< physical address / 65536, lower half
inline constexpr std::uint32_t physical_page_high = 0x0808;  ///< upper half
inline constexpr std::uint32_t valid = 0x080c;  ///< 1: the entry counts; write it last
}  // namespace tlb

namespace count {  // What was counted, modulo 2^32. A frame has one verdict, and a record one end: nothing is counted twice.
inline constexpr std::uint32_t frames_accepted = 0x1000;  ///< their payload went on
inline constexpr std::uint32_t frames_bad_fcs = 0x1004;  ///< the MAC said so
inline constexpr std::uint32_t frames_truncated = 0x1008;  ///< shorter than their headers say
inline constexpr std::uint32_t frames_wrong_mac = 0x100c;  ///< for another address
inline constexpr std::uint32_t frames_arp = 0x1010;  ///< ARP
inline constexpr std::uint32_t frames_not_ipv4 = 0x1014;  ///< another protocol
inline constexpr std::uint32_t frames_bad_ip_checksum = 0x1018;  ///< IPv4 header
inline constexpr std::uint32_t frames_fragment = 0x101c;  ///< part of a fragmented datagram
inline constexpr std::uint32_t frames_icmp = 0x1020;  ///< ICMP
inline constexpr std::uint32_t frames_not_udp = 0x1024;  ///< another protocol above IPv4
inline constexpr std::uint32_t frames_unknown_port = 0x1028;  ///< no stream has it
inline constexpr std::uint32_t frames_overflow = 0x102c;  ///< the payload buffer was full
inline constexpr std::uint32_t frames_bad_udp_checksum = 0x1030;  ///< with cut-through it went on, marked
inline constexpr std::uint32_t arp_answered = 0x1034;  ///< requests for our address
inline constexpr std::uint32_t echo_answered = 0x1038;  ///< ICMP echo
inline constexpr std::uint32_t replies_overflow = 0x103c;  ///< requests without room for an answer
inline constexpr std::uint32_t records_written = 0x1040;  ///< all of them in a buffer
inline constexpr std::uint32_t records_dropped = 0x1044;  ///< no buffer was free
inline constexpr std::uint32_t records_too_long = 0x1048;  ///< longer than a buffer
inline constexpr std::uint32_t buffers_overwritten = 0x104c;  ///< full ones that the host had not taken
inline constexpr std::uint32_t completions = 0x1050;  ///< written to the ring
inline constexpr std::uint32_t ring_full = 0x1054;  ///< cycles that a completion waited for room
inline constexpr std::uint32_t tlb_misses = 0x1058;  ///< pages that were not there
inline constexpr std::uint32_t tlb_stalls = 0x105c;  ///< cycles that were waited for them
inline constexpr std::uint32_t writes_failed = 0x1060;  ///< the bus answered a write with an error
inline constexpr std::uint32_t datagrams_ok = 0x1064;  ///< read by the merger; each has one verdict, the first of those in docs/reference/mgp.md
inline constexpr std::uint32_t datagrams_too_short = 0x1068;  ///< shorter than a header
inline constexpr std::uint32_t datagrams_wrong_magic = 0x106c;  ///< not an MGP packet
inline constexpr std::uint32_t datagrams_wrong_version = 0x1070;  ///< a version that the card does not know
inline constexpr std::uint32_t datagrams_wrong_length = 0x1074;  ///< length field differs from the datagram's length
inline constexpr std::uint32_t datagrams_wrong_flags = 0x1078;  ///< reserved bits, or flags that exclude each other
inline constexpr std::uint32_t datagrams_unknown_source = 0x107c;  ///< no board in use has this id on this stream
inline constexpr std::uint32_t datagrams_wrong_checksum = 0x1080;  ///< CRC-32C
inline constexpr std::uint32_t datagrams_event_truncated = 0x1084;  ///< an event reaches beyond the datagram
inline constexpr std::uint32_t datagrams_wrong_event_count = 0x1088;  ///< events differ from the number announced
inline constexpr std::uint32_t datagrams_wrong_event_number = 0x108c;  ///< always 0: MGP has no such number
inline constexpr std::uint32_t datagrams_wrong_hit = 0x1090;  ///< a channel that no board has
inline constexpr std::uint32_t datagrams_too_many_hits = 0x1094;  ///< always 0: an MGP event has at most 255
inline constexpr std::uint32_t datagrams_bad_frame = 0x1098;  ///< other bytes than its frame promised, or a check that failed too late; before all others
inline constexpr std::uint32_t packets_dropped = 0x109c;  ///< of good datagrams: a store had no room
inline constexpr std::uint32_t events_complete = 0x10a0;  ///< all boards in use
inline constexpr std::uint32_t events_incomplete = 0x10a4;  ///< some board missing
inline constexpr std::uint32_t events_rejected = 0x10a8;  ///< of the incomplete ones those not written
inline constexpr std::uint32_t bursts_begun = 0x10ac;  ///< their first fragments were there
inline constexpr std::uint32_t bursts_ended = 0x10b0;  ///< each with a record of its own
inline constexpr std::uint32_t late_0 = 0x10b4;  ///< fragments whose time, or burst, was over
inline constexpr std::uint32_t late_1 = 0x10b8;  ///< fragments whose time, or burst, was over
inline constexpr std::uint32_t late_2 = 0x10bc;  ///< fragments whose time, or burst, was over
inline constexpr std::uint32_t late_3 = 0x10c0;  ///< fragments whose time, or burst, was over
inline constexpr std::uint32_t late_4 = 0x10c4;  ///< fragments whose time, or burst, was over
inline constexpr std::uint32_t late_5 = 0x10c8;  ///< fragments whose time, or burst, was over
inline constexpr std::uint32_t late_6 = 0x10cc;  ///< fragments whose time, or burst, was over
inline constexpr std::uint32_t late_7 = 0x10d0;  ///< fragments whose time, or burst, was over
inline constexpr std::uint32_t duplicate_0 = 0x10d4;  ///< fragments of a board that had one in the event already
inline constexpr std::uint32_t duplicate_1 = 0x10d8;  ///< fragments of a board that had one in the event already
inline constexpr std::uint32_t duplicate_2 = 0x10dc;  ///< fragments of a board that had one in the event already
inline constexpr std::uint32_t duplicate_3 = 0x10e0;  ///< fragments of a board that had one in the event already
inline constexpr std::uint32_t duplicate_4 = 0x10e4;  ///< fragments of a board that had one in the event already
inline constexpr std::uint32_t duplicate_5 = 0x10e8;  ///< fragments of a board that had one in the event already
inline constexpr std::uint32_t duplicate_6 = 0x10ec;  ///< fragments of a board that had one in the event already
inline constexpr std::uint32_t duplicate_7 = 0x10f0;  ///< fragments of a board that had one in the event already
inline constexpr std::uint32_t ahead_0 = 0x10f4;  ///< fragments that no other board followed
inline constexpr std::uint32_t ahead_1 = 0x10f8;  ///< fragments that no other board followed
inline constexpr std::uint32_t ahead_2 = 0x10fc;  ///< fragments that no other board followed
inline constexpr std::uint32_t ahead_3 = 0x1100;  ///< fragments that no other board followed
inline constexpr std::uint32_t ahead_4 = 0x1104;  ///< fragments that no other board followed
inline constexpr std::uint32_t ahead_5 = 0x1108;  ///< fragments that no other board followed
inline constexpr std::uint32_t ahead_6 = 0x110c;  ///< fragments that no other board followed
inline constexpr std::uint32_t ahead_7 = 0x1110;  ///< fragments that no other board followed
inline constexpr std::uint32_t missing_0 = 0x1114;  ///< events without it
inline constexpr std::uint32_t missing_1 = 0x1118;  ///< events without it
inline constexpr std::uint32_t missing_2 = 0x111c;  ///< events without it
inline constexpr std::uint32_t missing_3 = 0x1120;  ///< events without it
inline constexpr std::uint32_t missing_4 = 0x1124;  ///< events without it
inline constexpr std::uint32_t missing_5 = 0x1128;  ///< events without it
inline constexpr std::uint32_t missing_6 = 0x112c;  ///< events without it
inline constexpr std::uint32_t missing_7 = 0x1130;  ///< events without it
inline constexpr std::uint32_t silenced_0 = 0x1134;  ///< times that it was given up waiting for
inline constexpr std::uint32_t silenced_1 = 0x1138;  ///< times that it was given up waiting for
inline constexpr std::uint32_t silenced_2 = 0x113c;  ///< times that it was given up waiting for
inline constexpr std::uint32_t silenced_3 = 0x1140;  ///< times that it was given up waiting for
inline constexpr std::uint32_t silenced_4 = 0x1144;  ///< times that it was given up waiting for
inline constexpr std::uint32_t silenced_5 = 0x1148;  ///< times that it was given up waiting for
inline constexpr std::uint32_t silenced_6 = 0x114c;  ///< times that it was given up waiting for
inline constexpr std::uint32_t silenced_7 = 0x1150;  ///< times that it was given up waiting for
}  // namespace count

/// Before each datagram, or some merged events, in a buffer, at a multiple of 64 bytes; what follows it is the payload.
/// In list 16 that is merged events one after the other, as many as `length` says: the card puts those into one record
/// that come while it writes the last one.
struct RecordHeader {
    std::uint16_t length;  ///< bytes of the payload
    std::uint8_t stream;  ///< 0 to 15, or 16: merged events
    std::uint8_t flags;  ///< bit 0: a check failed (cut-through); 1: a burst ends; 2: other than `length` bytes came
    std::uint32_t source_ip;  ///< IPv4 address of the sender; 0: merged events
    std::uint16_t source_port;  ///< UDP port of the sender; 0: merged events
    std::uint16_t reserved_0;  ///< 0
    std::uint32_t first_beat;  ///< cycle of the frame's first beat; merged: of the newest datagram read by then
    std::uint32_t last_beat;  ///< cycle of the payload's last beat
    std::uint32_t reserved_1[3];  ///< 0
};
static_assert(sizeof(RecordHeader) == 32);

/// A buffer that is the host's now. Written after all of the buffer's data have been acknowledged.
struct Completion {
    std::uint8_t list;  ///< 0 to 16
    std::uint8_t buffer;  ///< number in its list
    std::uint8_t reason;  ///< 1 full, 2 max_records, 3 gathering time, 4 end of burst, 5 flush; bit 7: some write failed
    std::uint8_t phase;  ///< 1 in the ring's first round, 0 in the second, and so on
    std::uint16_t n_records;  ///< in the buffer
    std::uint16_t n_bad;  ///< of them with flag bit 0 or 2
    std::uint32_t used_bytes;  ///< of the buffer
    std::uint32_t number;  ///< of the completion, from 0
    std::uint32_t first_beat;  ///< cycle: first beat of the first record
    std::uint32_t parsed;  ///< cycle: its first word left the receive path; merged events: that newest datagram was read
    std::uint32_t merged;  ///< cycle: its first word left the merger; 0 without
    std::uint32_t last_write;  ///< cycle: the last write was acknowledged
};
static_assert(sizeof(Completion) == 32);

/// How a merged event begins. With identity.n_boards > 4, `merged_event_upper` follows. Then hits, board by board, each
/// board's filled up to a multiple of 8 bytes: 16 bits, of them 0 to 8 the channel and 9 to 15 the time in 1/64 tick
/// from its fragment's, signed. The end of a burst has flag 7, the burst, and no fragments.
struct MergedEvent {
    std::uint32_t timestamp;  ///< of its first fragment, ticks
    std::uint32_t burst;  ///< its number
    std::uint32_t n_hits;  ///< of boards 0 to 3, 8 bits each, board 0 lowest
    std::uint8_t fine_time;  ///< of its first fragment, 1/256 tick
    std::uint8_t flags;  ///< bit 0: incomplete; 7: the end of the burst
    std::uint8_t missing;  ///< mask of boards in use without a fragment
    std::uint8_t n_boards;  ///< in use
    std::uint64_t offsets;  ///< when the fragments of boards 0 to 3 came after the first one, 16 bits each, 1/256 tick
};
static_assert(sizeof(MergedEvent) == 24);

/// The same of boards 4 to 7.
struct MergedEventUpper {
    std::uint32_t n_hits;  ///< 8 bits each
    std::uint32_t reserved;  ///< 0
    std::uint64_t offsets;  ///< 16 bits each
};
static_assert(sizeof(MergedEventUpper) == 16);

}  // namespace anello::nanet
