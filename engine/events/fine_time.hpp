// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace anello::events {

/// A fragment's time that never wraps: its timestamp, extended to 56 bits, followed by the 8 bits of fine time.
using FineTime = std::uint64_t;

inline constexpr FineTime no_fragment = ~FineTime{0};

constexpr std::uint64_t ticks_of(FineTime time) noexcept {
    return time >> 8;
}

/// The 64-bit tick count nearest to `near_ticks` whose low 32 bits are the timestamp. It is right if the two are less
/// than 2^31 ticks (53 s) apart.
constexpr std::uint64_t extend_ticks(std::uint32_t timestamp_ticks, std::uint64_t near_ticks) noexcept {
    const auto distance = static_cast<std::int32_t>(timestamp_ticks - static_cast<std::uint32_t>(near_ticks));
    return near_ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
}

constexpr FineTime fine_time_of(std::uint64_t ticks, std::uint8_t fine) noexcept {
    return (ticks << 8) | fine;
}

}  // namespace anello::events
