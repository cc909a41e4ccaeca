// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// The sending and the receiving side of a stream may be on two threads, and a stream over a network has a courier's
/// thread; each counter belongs to one of them. For both ends of one direction, once the end of stream was taken:
/// bytes_sent = bytes_received.
namespace anello::stream {

enum class StreamCounter : std::uint8_t {
    bytes_sent,
    messages_sent,
    messages_too_large,
    publishes,
    data_bells_rung,
    ring_full,
    sender_sleeps,
    sender_timeouts,
    sender_peer_died,
    sender_corrupt,
    bytes_received,
    messages_received,
    releases,
    space_bells_rung,
    ring_empty,
    receiver_sleeps,
    receiver_timeouts,
    receiver_peer_died,
    receiver_corrupt,
    pieces_sent,
    credits,
    courier_sleeps,
    courier_lost_peer,
    bytes_left_behind,
    count
};

enum class ListenerCounter : std::uint8_t {
    accepted,
    refused_silent,
    refused_gone,
    refused_user,
    refused_malformed,
    refused_version,
    refused_direction,
    refused_ring,
    refused_key,
    count
};

}  // namespace anello::stream

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 24> counter_labels<stream::StreamCounter>{{
    {"bytes_sent", "bytes published to the peer, framing included", Place::informative, in_bytes},
    {"messages_sent", "messages among them", Place::informative},
    {"messages_too_large", "messages and reservations refused because they can never fit into the ring",
     Place::informative},
    {"publishes", "times the head was published", Place::informative},
    {"data_bells_rung", "times a sleeping receiver was woken", Place::informative},
    {"ring_full", "times a send found less room than it wanted", Place::informative},
    {"sender_sleeps", "times the sender slept for space", Place::informative},
    {"sender_timeouts", "sends that ended at their deadline", Place::informative},
    {"sender_peer_died", "1: the sender found that the peer died without closing", Place::informative},
    {"sender_corrupt", "1: the peer claimed to have taken bytes that were never sent, or returned bytes twice",
     Place::informative},
    {"bytes_received", "bytes taken by the program and returned to the peer as space, framing included",
     Place::informative, in_bytes},
    {"messages_received", "messages among them", Place::informative},
    {"releases", "times the tail was published", Place::informative},
    {"space_bells_rung", "times a sleeping sender was woken", Place::informative},
    {"ring_empty", "times a receive found less data than it wanted", Place::informative},
    {"receiver_sleeps", "times the receiver slept for data", Place::informative},
    {"receiver_timeouts", "receives that ended at their deadline", Place::informative},
    {"receiver_peer_died", "1: the receiver found that the peer died without an end of stream", Place::informative},
    {"receiver_corrupt", "1: the peer published more than the ring holds, took data back, or broke a message's frame",
     Place::informative},
    {"pieces_sent", "pieces sent to the peer's ring over the network", Place::informative},
    {"credits", "times the tail was sent to the peer over the network", Place::informative},
    {"courier_sleeps", "times the thread that carries a stream over the network slept", Place::informative},
    {"courier_lost_peer", "1: the network lost the peer, or the peer did not answer in time, or violated the protocol",
     Place::informative},
    {"bytes_left_behind",
     "bytes not transferred over the network when the stream ended: the peer had died, or peer_timeout passed",
     Place::informative, in_bytes},
}};

template <>
inline constexpr std::array<CounterLabel, 9> counter_labels<stream::ListenerCounter>{{
    {"accepted", "streams made", Place::informative},
    {"refused_silent", "peers that sent nothing until the handshake's deadline", Place::informative},
    {"refused_gone", "peers that left during the handshake, or refused this side", Place::informative},
    {"refused_user", "peers of another user", Place::informative},
    {"refused_malformed", "peers that do not use this protocol", Place::informative},
    {"refused_version", "peers of another version", Place::informative},
    {"refused_direction", "peers whose direction does not match this side's", Place::informative},
    {"refused_ring", "peers whose ring is not as announced, not sealed, too large, or cannot be mapped",
     Place::informative},
    {"refused_key", "peers over a network without a known key", Place::informative},
}};

}  // namespace anello
