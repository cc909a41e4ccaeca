// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/counters/counters.hpp"

namespace anello::source {

/// Counters of one board. Fragments that reached the network = fragments + duplicated - lost - dead board - not sent.
enum class SourceCounter : std::uint8_t {
    packets,
    fragments,
    hits,
    bytes,
    packets_dead_board,
    fragments_dead_board,
    packets_lost_injected,
    fragments_lost_injected,
    packets_truncated_injected,
    fragments_truncated_injected,
    packets_corrupted_injected,
    fragments_corrupted_injected,
    packets_duplicated_injected,
    fragments_duplicated_injected,
    packets_reordered_injected,
    burst_markers,
    datagrams_sent,
    bytes_sent,
    send_refused,
    send_no_buffers,
    send_failed,
    packets_not_sent,
    fragments_not_sent,
    count
};

/// Counters of the source as a whole.
enum class GeneratorCounter : std::uint8_t {
    events,
    bursts,
    sends,
    behind_ns_max,
    time_forgone_ns,
    truth_samples,
    truth_not_kept,
    count
};

}  // namespace anello::source

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 23> counter_labels<source::SourceCounter>{{
    {"packets", "data packets made, whatever happened to them: what markers announce", Place::packets},
    {"fragments", "events' fragments in those packets", Place::fragments},
    {"hits", "hits in those packets", Place::hits},
    {"bytes", "UDP payload of those packets", Place::informative, in_bytes},
    {"packets_dead_board", "data packets not sent because the board plays dead", Place::packets},
    {"fragments_dead_board", "fragments in them", Place::fragments},
    {"packets_lost_injected", "data packets dropped on purpose", Place::packets},
    {"fragments_lost_injected", "fragments in them", Place::fragments},
    {"packets_truncated_injected", "data packets cut short on purpose", Place::packets},
    {"fragments_truncated_injected", "fragments in them before the cut", Place::fragments},
    {"packets_corrupted_injected", "data packets with one byte changed on purpose", Place::packets},
    {"fragments_corrupted_injected", "fragments in them", Place::fragments},
    {"packets_duplicated_injected", "data packets sent twice on purpose", Place::verdict},
    {"fragments_duplicated_injected", "fragments in them, once", Place::datagrams},
    {"packets_reordered_injected", "data packets sent after their successor on purpose", Place::verdict},
    {"burst_markers", "markers (start or end of a burst or run) handed to the network", Place::packets},
    {"datagrams_sent", "datagrams that the network took, markers and duplicates included", Place::datagrams},
    {"bytes_sent", "UDP payload of datagrams that the network took", Place::informative, in_bytes},
    {"send_refused", "datagrams refused: nobody listens at the destination", Place::datagrams},
    {"send_no_buffers", "datagrams refused: no buffer space (ENOBUFS, ENOMEM, EAGAIN)", Place::datagrams},
    {"send_failed", "datagrams refused for another reason", Place::datagrams},
    {"packets_not_sent", "data packets in refused datagrams", Place::packets},
    {"fragments_not_sent", "fragments in refused datagrams", Place::fragments},
}};

template <>
inline constexpr std::array<CounterLabel, 7> counter_labels<source::GeneratorCounter>{{
    {"events", "events made; each gives one fragment to every board", Place::informative},
    {"bursts", "bursts begun; where there are none, a run is one", Place::informative},
    {"sends", "batches of datagrams handed to the network", Place::informative},
    {"behind_ns_max", "longest time, ns, by which an event was taken up after its time", Place::informative,
     gauge_in_ns},
    {"time_forgone_ns", "detector time, ns, by which the source put its clock back when too far behind", Place::verdict,
     in_ns},
    {"truth_samples", "events whose truth was noted", Place::informative},
    {"truth_not_kept", "selected events whose truth found no room", Place::informative},
}};

}  // namespace anello
