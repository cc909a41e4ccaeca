// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/words.hpp"

/// Steps before the compressor that put similar bits together. Both work on little-endian u16 samples without regard to
/// pixels or boards; an odd last byte stays unchanged. docs/reference/camera-record.md has the layout byte by byte.
namespace anello::camera {

enum class Shuffle : std::uint8_t {
    none,
    byte,  ///< all low bytes, then all high bytes
    bit,   ///< bit 0 of all samples, then bit 1, ...
};

/// Replaces each sample by its difference to the one before, with the sign in bit 0: small differences become small
/// numbers. The two spans must not overlap; out has the length of in.
void difference(std::span<const std::byte> in, std::span<std::byte> out) noexcept;
void undo_difference(std::span<std::byte> bytes) noexcept;

void shuffle(Shuffle how, std::span<const std::byte> in, std::span<std::byte> out) noexcept;
void undo_shuffle(Shuffle how, std::span<const std::byte> in, std::span<std::byte> out) noexcept;

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<const char*, 3> words_of<camera::Shuffle>{"none", "byte", "bit"};

}  // namespace anello
