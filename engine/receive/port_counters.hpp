// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters.hpp"

/// Of one port, where datagrams are handed on whole: block "receive.port<p>".
///   datagrams = datagrams given to the builder + blocks_dropped
namespace anello::receive {

enum class PortCounter : std::uint8_t { datagrams, bytes, kernel_dropped, blocks_dropped, count };

}  // namespace anello::receive

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 4> counter_labels<receive::PortCounter>{{
    {"datagrams", "datagrams that the backend delivered"},
    {"bytes", "their UDP payload"},
    {"kernel_dropped", "datagrams that the system dropped at the socket (with GRO a super-packet may count as one)"},
    {"blocks_dropped", "datagrams dropped because no block to the build thread was free"},
}};

}  // namespace anello
