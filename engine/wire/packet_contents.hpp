// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "wire/bytes.hpp"
#include "wire/packet_format.hpp"

/// What the entries of packet_formats() are written with, and those of the engine's own formats.
namespace anello::wire::contents {

inline void add_row(Table& table, std::initializer_list<std::uint64_t> values) {
    auto column = table.columns.begin();
    for (const std::uint64_t value : values) (column++)->values.push_back(value);
}

/// Signed values travel as their bits.
constexpr std::uint64_t bits(std::int64_t value) noexcept {
    return static_cast<std::uint64_t>(value);
}

/// A header stands in the datagram, whatever else is wrong with it.
constexpr bool has_header(Verdict verdict) noexcept {
    return verdict != Verdict::too_short && verdict != Verdict::wrong_magic && verdict != Verdict::wrong_version;
}

using Bytes = std::span<const std::byte>;

template <std::uint32_t magic>
bool begins_le(Bytes datagram) noexcept {
    return datagram.size() >= sizeof magic && load_le<std::uint32_t>(datagram.data()) == magic;
}

template <std::uint32_t magic>
bool begins_be(Bytes datagram) noexcept {
    return datagram.size() >= sizeof magic && load_be<std::uint32_t>(datagram.data()) == magic;
}

Verdict check_mgp(Bytes datagram, Summary& summary) noexcept;
Verdict read_mgp(Bytes datagram, Contents& contents);
Verdict check_mfp(Bytes packet, Summary& summary) noexcept;
Verdict read_mfp(Bytes packet, Contents& contents);

}  // namespace anello::wire::contents
