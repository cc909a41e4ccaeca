// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "wire/packet_format.hpp"

/// The entries of packet_formats(), one pair for each format, and what they are written with.
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

Verdict check_mgp(Bytes datagram, Summary& summary) noexcept;
Verdict read_mgp(Bytes datagram, Contents& contents);
Verdict check_mep(Bytes datagram, Summary& summary) noexcept;
Verdict read_mep(Bytes datagram, Contents& contents);
Verdict check_mtp(Bytes datagram, Summary& summary) noexcept;
Verdict read_mtp(Bytes datagram, Contents& contents);
Verdict check_camera(Bytes datagram, Summary& summary) noexcept;
Verdict read_camera(Bytes datagram, Contents& contents);
Verdict check_clb(Bytes datagram, Summary& summary) noexcept;
Verdict read_clb(Bytes datagram, Contents& contents);
Verdict check_mfp(Bytes packet, Summary& summary) noexcept;
Verdict read_mfp(Bytes packet, Contents& contents);
Verdict check_camera_group(Bytes group, Summary& summary) noexcept;
Verdict read_camera_group(Bytes group, Contents& contents);
bool begins_daq(Bytes datagram) noexcept;
Verdict check_daq(Bytes message, Summary& summary) noexcept;
Verdict read_daq(Bytes message, Contents& contents);
Verdict check_rich_frame(Bytes fragment, Summary& summary) noexcept;
Verdict read_rich_frame(Bytes fragment, Contents& contents);

}  // namespace anello::wire::contents
