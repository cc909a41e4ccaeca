// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The counters of one stream, written by the receiver's thread; there is also a block of wire::Verdict counters of the
/// stream. At the end of a run (after StreamReceiver::finish()) these hold exactly:
///
///   datagrams  = packets + markers + duplicate_packets + conflicting_packets + dropped_packets + stray_packets
///                + strangers + all verdicts but ok
///   verdict ok = datagrams without the strangers and the verdicts that are not ok
///   fragments  = fragments handed to the builder and taken + overwritten_fragments   (also for hits and packets)
///   announced  = distinct_sequences + lost_sequences + before_joining
///                where announced is announced_packets (mgp; when the last marker of the run arrived) or
///                announced_fragments (mep, whose sequence counts events)
///   announced_fragments + unannounced_fragments = fragments - disowned_fragments + dropped_fragments
///                + those in lost data packets   (also for hits, but hits of mep are never announced)
///   distinct_sequences = packets - disowned_packets + dropped_packets   (mgp)
///   lost_sequences = lost in the network + kernel_dropped + malformed + strays, of data packets; and the first of the
///                conflicting packets that showed a restart
namespace anello::receive {

enum class ReceiveCounter : std::uint8_t {
    datagrams,
    bytes,
    kernel_dropped,
    super_packets,
    packets,
    fragments,
    hits,
    out_of_order,
    distinct_sequences,
    lost_sequences,
    before_joining,
    source_restarts,
    stray_packets,
    duplicate_packets,
    duplicate_fragments,
    dropped_packets,
    dropped_fragments,
    dropped_hits,
    overwritten_packets,
    overwritten_fragments,
    overwritten_hits,
    blocks_by_size,
    blocks_by_gathering_time,
    blocks_by_end_of_burst,
    blocks_by_stop,
    blocks_by_take_over,
    markers,
    repeated_markers,
    bursts_ended,
    lost_end_notices,
    announced_packets,
    announced_fragments,
    announced_hits,
    unannounced_fragments,
    unannounced_hits,
    strangers,
    source_changes,
    mistaken_strangers,
    disowned_packets,
    disowned_fragments,
    disowned_hits,
    conflicting_packets,
    count
};

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 42> counter_labels<receive::ReceiveCounter>{{
    {"datagrams", "datagrams that the backend delivered", Place::packets},
    {"bytes", "their UDP payload", Place::informative, in_bytes},
    {"kernel_dropped", "datagrams that the system dropped at the socket (with GRO a super-packet may count as one)",
     Place::packets},
    {"super_packets", "messages of several datagrams each that the backend split (GRO)", Place::packets},
    {"packets", "data packets placed in a block", Place::packets},
    {"fragments", "fragments placed in a block", Place::fragments},
    {"hits", "hits placed in a block", Place::hits},
    {"out_of_order", "packets accepted that filled a gap after a later packet", Place::informative},
    {"distinct_sequences", "different sequence numbers in valid packets (mgp: packets, mep: events)", Place::fragments},
    {"lost_sequences", "sequence numbers passed over or announced that no valid packet has had so far",
     Place::fragments, gauge},
    {"before_joining", "sequence numbers before the first one received, if the receiver joined a run late",
     Place::packets},
    {"source_restarts", "times that the source restarted its sequence", Place::informative},
    {"stray_packets", "valid packets not used: their sequence number is far off, and no second packet has confirmed it",
     Place::packets},
    {"duplicate_packets", "valid packets not used: a packet with the same bytes had arrived before", Place::packets},
    {"duplicate_fragments", "fragments in duplicate packets", Place::informative},
    {"dropped_packets", "valid packets dropped because every buffer was in use", Place::packets},
    {"dropped_fragments", "fragments in packets dropped because every buffer was in use", Place::fragments},
    {"dropped_hits", "hits in packets dropped because every buffer was in use", Place::hits},
    {"overwritten_packets", "packets in blocks that were withdrawn before the builder took them", Place::verdict},
    {"overwritten_fragments", "fragments in blocks that were withdrawn before the builder took them", Place::fragments},
    {"overwritten_hits", "hits in blocks that were withdrawn before the builder took them", Place::hits},
    {"blocks_by_size", "blocks handed on because the next packet did not fit", Place::informative},
    {"blocks_by_gathering_time", "blocks handed on by gathering time, or to keep bursts apart", Place::informative},
    {"blocks_by_end_of_burst", "blocks handed on at the end of a burst, also empty ones", Place::informative},
    {"blocks_by_stop", "blocks handed on when the receiver stopped", Place::informative},
    {"blocks_by_take_over", "empty blocks that notified the builder that another address took over the board",
     Place::informative},
    {"markers", "valid start-of-burst and end-of-burst packets", Place::packets},
    {"repeated_markers", "markers that repeated known information", Place::informative},
    {"bursts_ended", "ends of burst reported to the builder, each once", Place::fragments},
    {"lost_end_notices",
     "ends of burst and take-overs not reported, because the builder returned no buffer for too many bursts",
     Place::informative},
    {"announced_packets", "data packets sent, as announced by the source", Place::packets},
    {"announced_fragments", "fragments sent, as announced by the source", Place::fragments},
    {"announced_hits", "hits sent, as announced by the source", Place::hits},
    {"unannounced_fragments", "fragments placed or dropped that no announcement includes: the source ended in a burst",
     Place::fragments, gauge},
    {"unannounced_hits", "hits in them", Place::hits, gauge},
    {"strangers", "datagrams not used, because they came from another address than that of the board", Place::packets},
    {"source_changes", "times that the board was bound to another address", Place::informative},
    {"mistaken_strangers", "part of strangers: from the address that the board was bound to afterwards",
     Place::packets},
    {"disowned_packets", "packets placed before another address proved to be the board's (first 1000 packets only)",
     Place::packets},
    {"disowned_fragments", "fragments in the disowned packets", Place::fragments},
    {"disowned_hits", "hits in the disowned packets", Place::hits},
    {"conflicting_packets", "valid packets not used: another packet with their number had arrived before",
     Place::packets},
}};

}  // namespace anello
