// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

/// For one port whose datagrams are handed on whole: block "receive.port<p>", of a card "card.port<p>".
///   datagrams = datagrams handed on + blocks_dropped
namespace anello::receive {

enum class PortCounter : std::uint8_t { datagrams, bytes, super_packets, kernel_dropped, blocks_dropped, count };

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 5> counter_labels<receive::PortCounter>{{
    {"datagrams", "datagrams that the backend delivered", Place::datagrams},
    {"bytes", "their UDP payload", Place::informative, in_bytes},
    {"super_packets", "messages of several datagrams each that the backend split (GRO)", Place::datagrams},
    {"kernel_dropped", "datagrams that the system dropped at the socket (with GRO a super-packet may count as one)",
     Place::datagrams},
    {"blocks_dropped", "datagrams dropped because no block for them was free", Place::datagrams},
}};

}  // namespace anello
