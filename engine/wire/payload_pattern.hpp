// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Payload that a receiver can verify from the header alone (docs/reference/mfp.md, "The pattern"): 64-bit words,
/// little-endian. Word i is start + i * step modulo 2^64; the last word may be cut.
namespace anello::wire {

inline constexpr std::uint64_t pattern_step = 0x9e3779b97f4a7c15;

/// The first word: SplitMix64's mixing step (Steele, Lea, Flood 2014) of board << 32 | event_number, so that fragments
/// of other boards and events differ in about half of their bits.
constexpr std::uint64_t pattern_start(std::uint16_t board, std::uint32_t event_number) noexcept {
    std::uint64_t z = std::uint64_t{board} << 32 | event_number;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/// Hot path: no allocation, no lock, no log, no throw.
void write_pattern(std::span<std::byte> payload, std::uint16_t board, std::uint32_t event_number) noexcept;
bool has_pattern(std::span<const std::byte> payload, std::uint16_t board, std::uint32_t event_number) noexcept;

}  // namespace anello::wire
