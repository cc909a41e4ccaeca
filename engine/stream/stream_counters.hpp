// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters.hpp"

/// The sending and the receiving side of a stream may be threads of their own, and a stream over a network has a
/// courier: each counter is of one of them. Over both ends of one direction, once the end of stream was taken:
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
    {"bytes_sent", "bytes published to the peer, framing included"},
    {"messages_sent", "messages among them"},
    {"messages_too_large", "messages and reservations refused because they can never fit into the ring"},
    {"publishes", "times the head was published"},
    {"data_bells_rung", "times a sleeping receiver was woken"},
    {"ring_full", "times a send found less room than it wanted"},
    {"sender_sleeps", "times the sender slept for space"},
    {"sender_timeouts", "sends that ended at their deadline"},
    {"sender_peer_died", "1: the sender found that the peer went away without closing"},
    {"sender_corrupt", "1: the peer claimed to have taken what was never sent, or gave back a second time"},
    {"bytes_received", "bytes taken and given back to the peer as space, framing included"},
    {"messages_received", "messages among them"},
    {"releases", "times the tail was published"},
    {"space_bells_rung", "times a sleeping sender was woken"},
    {"ring_empty", "times a receive found less data than it wanted"},
    {"receiver_sleeps", "times the receiver slept for data"},
    {"receiver_timeouts", "receives that ended at their deadline"},
    {"receiver_peer_died", "1: the receiver found that the peer went away without an end of stream"},
    {"receiver_corrupt", "1: the peer published more than the ring holds, took data back, or broke a message's frame"},
    {"pieces_sent", "pieces that left for the peer's ring over the network"},
    {"credits", "times the tail was told to the peer over the network"},
    {"courier_sleeps", "times the thread that carries a stream over the network slept"},
    {"courier_lost_peer", "1: the network lost the peer, or it did not answer in time, or broke the protocol"},
    {"bytes_left_behind",
     "bytes sent that had not left for the peer over the network when the stream ended: it was gone, or peer_timeout "
     "passed"},
}};

template <>
inline constexpr std::array<CounterLabel, 9> counter_labels<stream::ListenerCounter>{{
    {"accepted", "streams made"},
    {"refused_silent", "strangers that said nothing until the handshake's deadline"},
    {"refused_gone", "strangers that went away during the handshake, or refused us"},
    {"refused_user", "strangers of another user"},
    {"refused_malformed", "strangers that do not speak this protocol"},
    {"refused_version", "peers of another version"},
    {"refused_direction", "peers that send where we do not receive, or the other way round"},
    {"refused_ring", "peers whose ring is not what they claim, not sealed, too large or cannot be mapped"},
    {"refused_key", "strangers over a network without a key that we know"},
}};

}  // namespace anello
