// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The counters of the merger in the card's model (receive.nanet_merge), read from its registers, and those of the
/// host. When all sent frames have arrived:
///
///   frames_accepted (NanetCounter) = all datagrams_...
///   events_complete + events_incomplete - events_rejected = events_read
///   bursts_ended = ends_read, hits = hits_read, records_written (NanetCounter) = records_read
///
/// events::BoardCounter has the registers of single boards.
namespace anello::receive {

/// The first ones are the registers from count.datagrams_ok on, in the same order.
enum class NanetMergeCounter : std::uint8_t {
    datagrams_ok,
    datagrams_too_short,
    datagrams_wrong_magic,
    datagrams_wrong_version,
    datagrams_wrong_length,
    datagrams_wrong_flags,
    datagrams_unknown_source,
    datagrams_wrong_checksum,
    datagrams_event_truncated,
    datagrams_wrong_event_count,
    datagrams_wrong_event_number,
    datagrams_wrong_hit,
    datagrams_too_many_hits,
    datagrams_bad_frame,
    packets_dropped,
    events_complete,
    events_incomplete,
    events_rejected,
    bursts_begun,
    bursts_ended,
    fragments,
    hits,
    records_read,
    records_malformed,
    events_read,
    ends_read,
    hits_read,
    count
};

/// Number of counters that are registers in one row.
inline constexpr std::uint32_t n_nanet_merge_registers =
    static_cast<std::uint32_t>(NanetMergeCounter::bursts_ended) + 1;

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 27> counter_labels<receive::NanetMergeCounter>{{
    {"datagrams_ok", "datagrams by the card's verdict: read by the merger", Place::datagrams},
    {"datagrams_too_short", "datagrams by the card's verdict: shorter than a header", Place::datagrams},
    {"datagrams_wrong_magic", "datagrams by the card's verdict: not an MGP packet", Place::datagrams},
    {"datagrams_wrong_version", "datagrams by the card's verdict: a version that the card does not know",
     Place::datagrams},
    {"datagrams_wrong_length", "datagrams by the card's verdict: length field differs from the datagram's length",
     Place::datagrams},
    {"datagrams_wrong_flags", "datagrams by the card's verdict: reserved bits, or flags that exclude each other",
     Place::datagrams},
    {"datagrams_unknown_source", "datagrams by the card's verdict: no board in use has this id on this stream",
     Place::datagrams},
    {"datagrams_wrong_checksum", "datagrams by the card's verdict: CRC-32C", Place::datagrams},
    {"datagrams_event_truncated", "datagrams by the card's verdict: an event reaches beyond the datagram",
     Place::datagrams},
    {"datagrams_wrong_event_count", "datagrams by the card's verdict: events differ from the number announced",
     Place::datagrams},
    {"datagrams_wrong_event_number", "datagrams by the card's verdict: always 0, MGP has no such number",
     Place::datagrams},
    {"datagrams_wrong_hit", "datagrams by the card's verdict: a channel that no board has", Place::datagrams},
    {"datagrams_too_many_hits", "datagrams by the card's verdict: always 0, an MGP event has at most 255",
     Place::datagrams},
    {"datagrams_bad_frame", "datagrams by the card's verdict: other bytes than their frame promised", Place::datagrams},
    {"packets_dropped", "of good datagrams: the board's store in the card had no room", Place::fragments},
    {"events_complete", "of the card: events with a fragment of every board", Place::events},
    {"events_incomplete", "of the card: events that lack at least one board", Place::events},
    {"events_rejected", "of the card: incomplete events dropped by configuration", Place::events},
    {"bursts_begun", "of the card: bursts whose first fragments were there", Place::informative},
    {"bursts_ended", "of the card: bursts handed on to their end", Place::events},
    {"fragments", "of the card: fragments merged, including those of rejected events", Place::fragments},
    {"hits", "of the card: hits in merged events", Place::hits},
    {"records_read", "records of merged events that were read in memory", Place::records},
    {"records_malformed", "records with invalid merged events; the rest of such a record was not used", Place::verdict},
    {"events_read", "merged events that were read in memory", Place::events},
    {"ends_read", "ends of burst that were read in memory", Place::events},
    {"hits_read", "hits of the events read in memory", Place::hits},
}};

}  // namespace anello
