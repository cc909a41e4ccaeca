// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "wire/bytes.hpp"
#include "wire/packet_format.hpp"

/// Helpers for the entries of packet_formats(), and the entries of the engine's own formats.
namespace anello::wire::contents {

inline void add_row(Table& table, std::initializer_list<std::uint64_t> values) {
    auto column = table.columns.begin();
    for (const std::uint64_t value : values) (column++)->values.push_back(value);
}

/// Signed values are stored as their two's complement.
constexpr std::uint64_t bits(std::int64_t value) noexcept {
    return static_cast<std::uint64_t>(value);
}

/// True if the datagram contains a header, even if it is wrong otherwise.
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
