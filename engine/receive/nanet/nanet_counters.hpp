// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The counters of the card's model, read from its registers when no frames come, and those of the host. When all sent
/// frames have arrived:
///
///   frames = all frames_... = datagrams + refused + other_frames
///
/// With receive.nanet_merge records are of merged events, and datagrams and refused stay 0; NanetMergeCounter then
/// continues the balance from frames_accepted.
namespace anello::receive {

/// The first ones are the registers from count.frames_accepted on, in the same order.
enum class NanetCounter : std::uint8_t {
    frames_accepted,
    frames_bad_fcs,
    frames_truncated,
    frames_wrong_mac,
    frames_arp,
    frames_not_ipv4,
    frames_bad_ip_checksum,
    frames_fragment,
    frames_icmp,
    frames_not_udp,
    frames_unknown_port,
    frames_overflow,
    frames_bad_udp_checksum,
    arp_answered,
    echo_answered,
    replies_overflow,
    records_written,
    records_dropped,
    records_too_long,
    buffers_overwritten,
    completions,
    ring_full,
    tlb_misses,
    tlb_stalls,
    writes_failed,
    frames,
    datagrams,
    refused,
    other_frames,
    payload_bytes,
    socket_dropped,
    joined_frames,
    unanswered,
    buffers,
    cycles,
    receive_cycles,
    gather_cycles,
    merge_cycles,
    hand_on_cycles,
    payload_words_highest,
    payload_words_size,
    payload_frames_highest,
    payload_frames_size,
    store_items_highest,
    store_items_size,
    store_words_highest,
    store_words_size,
    merged_words_highest,
    merged_words_size,
    ring_highest,
    ring_size,
    count
};

/// Number of counters that are registers.
inline constexpr std::uint32_t n_nanet_registers = static_cast<std::uint32_t>(NanetCounter::writes_failed) + 1;

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 51> counter_labels<receive::NanetCounter>{{
    {"frames_accepted", "frames by the card's verdict: their payload went on", Place::frames},
    {"frames_bad_fcs", "frames by the card's verdict: the MAC said so", Place::frames},
    {"frames_truncated", "frames by the card's verdict: shorter than their headers say", Place::frames},
    {"frames_wrong_mac", "frames by the card's verdict: for another address", Place::frames},
    {"frames_arp", "frames by the card's verdict: ARP", Place::frames},
    {"frames_not_ipv4", "frames by the card's verdict: another protocol", Place::frames},
    {"frames_bad_ip_checksum", "frames by the card's verdict: IPv4 header", Place::frames},
    {"frames_fragment", "frames by the card's verdict: part of a fragmented datagram", Place::frames},
    {"frames_icmp", "frames by the card's verdict: ICMP", Place::frames},
    {"frames_not_udp", "frames by the card's verdict: another protocol above IPv4", Place::frames},
    {"frames_unknown_port", "frames by the card's verdict: no stream has it", Place::frames},
    {"frames_overflow", "frames by the card's verdict: the payload buffer was full", Place::frames},
    {"frames_bad_udp_checksum", "frames by the card's verdict: with cut-through it went on, marked", Place::frames},
    {"arp_answered", "of the card: requests for our address", Place::informative},
    {"echo_answered", "of the card: ICMP echo", Place::informative},
    {"replies_overflow", "of the card: requests without room for an answer", Place::informative},
    {"records_written", "of the card: all of them in a buffer", Place::records},
    {"records_dropped", "of the card: no buffer was free", Place::informative},
    {"records_too_long", "of the card: longer than a buffer", Place::informative},
    {"buffers_overwritten", "of the card: full ones that the host had not taken", Place::informative},
    {"completions", "of the card: written to the ring", Place::informative},
    {"ring_full", "of the card: cycles that a completion waited for room", Place::informative},
    {"tlb_misses", "of the card: pages that were not there", Place::informative},
    {"tlb_stalls", "of the card: cycles that were waited for them", Place::informative},
    {"writes_failed", "of the card: the bus answered a write with an error", Place::informative},
    {"frames", "Ethernet frames given to the card; the card has a verdict on each of them", Place::frames},
    {"datagrams", "records that the card wrote and that were lent, each the payload of a datagram", Place::informative},
    {"refused", "frames for our ports without a record; they also count as dropped by the kernel", Place::informative},
    {"other_frames", "frames for none of our ports", Place::datagrams},
    {"payload_bytes", "payload bytes of all these frames, after the UDP headers", Place::informative},
    {"socket_dropped", "datagrams, or frames of an interface, that the system dropped before the card",
     Place::datagrams},
    {"joined_frames",
     "frames that the system had joined (segmentation offload), so that they were on no wire; not given to the card",
     Place::verdict},
    {"unanswered", "times that the card left a register access unanswered; it is not used afterwards", Place::verdict},
    {"buffers", "buffers that the card handed on", Place::informative},
    {"cycles", "cycles that were simulated", Place::informative},
    {"receive_cycles",
     "cycles from the first word of a buffer's first frame until its payload left the receive path, of all buffers",
     Place::informative},
    {"gather_cycles", "cycles from then until the buffer was full or its gathering time over, and it was in memory",
     Place::informative},
    {"merge_cycles",
     "merged events: cycles from the reading of the newest datagram before them until their first word left the merger",
     Place::informative},
    {"hand_on_cycles", "cycles from then until its completion was in memory", Place::informative},
    {"payload_words_highest", "at the most, since the run began: words of the payload buffer, 8 bytes each",
     Place::informative, gauge},
    {"payload_words_size", "as many of these there are places for; 0: the model does not show it", Place::informative,
     gauge},
    {"payload_frames_highest", "at the most, since the run began: frames of the payload buffer", Place::informative,
     gauge},
    {"payload_frames_size", "as many of these there are places for; 0: the model does not show it", Place::informative,
     gauge},
    {"store_items_highest",
     "at the most, since the run began: items (fragments, and one for each packet) of the fullest board's store in the "
     "merger",
     Place::informative, gauge},
    {"store_items_size", "as many of these there are places for; 0: the model does not show it", Place::informative,
     gauge},
    {"store_words_highest",
     "at the most, since the run began: words of hits of the fullest board's store in the merger", Place::informative,
     gauge},
    {"store_words_size", "as many of these there are places for; 0: the model does not show it", Place::informative,
     gauge},
    {"merged_words_highest", "at the most, since the run began: words of merged events on their way to memory",
     Place::informative, gauge},
    {"merged_words_size", "as many of these there are places for; 0: the model does not show it", Place::informative,
     gauge},
    {"ring_highest", "at the most, since the run began: completions in the ring that the host had not reported as read",
     Place::informative, gauge},
    {"ring_size", "as many of these there are places for; 0: the model does not show it", Place::informative, gauge},
}};

}  // namespace anello
