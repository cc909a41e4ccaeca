// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// For a farm at rest on a reliable transport: sum of messages_sent = sum of (messages_received + messages_discarded) +
/// sum of messages_failed, if no process died. Data that the kernel accepted and a dead peer never read appear in no
/// counter.
namespace anello::fabric {

enum class FabricCounter : std::uint8_t {
    messages_sent,
    message_bytes_sent,
    messages_received,
    message_bytes_received,
    messages_discarded,
    messages_failed,
    messages_lost,
    datagrams_sent,
    datagrams_received,
    datagrams_duplicate,
    puts,
    put_bytes,
    gets,
    get_bytes,
    signals_received,
    transfers_failed,
    busy,
    peers_up,
    peers_down,
    strangers_refused,
    malformed,
    count
};

}  // namespace anello::fabric

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 21> counter_labels<fabric::FabricCounter>{{
    {"messages_sent", "messages that the transport took", Place::informative},
    {"message_bytes_sent", "their payload", Place::informative, in_bytes},
    {"messages_received", "messages that came whole and were placed", Place::informative},
    {"message_bytes_received", "their payload", Place::informative, in_bytes},
    {"messages_discarded", "messages that came and found no place", Place::informative},
    {"messages_failed", "messages taken, and given up because the peer went down", Place::informative},
    {"messages_lost", "messages of which some or all datagrams never came, counted by who should receive them (udp)",
     Place::informative},
    {"datagrams_sent", "datagrams of messages (udp)", Place::informative},
    {"datagrams_received", "datagrams of messages (udp)", Place::informative},
    {"datagrams_duplicate", "datagrams that were there already, or too late (udp)", Place::informative},
    {"puts", "one-sided writes that the transport took", Place::informative},
    {"put_bytes", "their bytes", Place::informative, in_bytes},
    {"gets", "one-sided reads that the transport took", Place::informative},
    {"get_bytes", "their bytes", Place::informative, in_bytes},
    {"signals_received", "signals behind peers' puts", Place::informative},
    {"transfers_failed", "puts and gets given up because the peer went down, or refused by it", Place::informative},
    {"busy", "attempts that found no room", Place::informative},
    {"peers_up", "connections made", Place::informative},
    {"peers_down", "connections lost, timed out or refused", Place::informative},
    {"strangers_refused", "connections or messages without the farm's number, or from a peer that cannot be",
     Place::informative},
    {"malformed", "frames that break the protocol: dropped (udp), or their connection is closed", Place::informative},
}};

}  // namespace anello
