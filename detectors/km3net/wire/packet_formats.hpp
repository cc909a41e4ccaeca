// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wire/packet_format.hpp"

namespace anello::km3net {

/// The formats of KM3NeT (the boards' hits, and messages), for wire::add_packet_formats().
std::span<const wire::PacketFormat> packet_formats() noexcept;

}  // namespace anello::km3net

namespace anello::wire::contents {

Verdict check_clb(std::span<const std::byte> datagram, Summary& summary) noexcept;
Verdict read_clb(std::span<const std::byte> datagram, Contents& contents);
bool begins_daq(std::span<const std::byte> datagram) noexcept;
Verdict check_daq(std::span<const std::byte> message, Summary& summary) noexcept;
Verdict read_daq(std::span<const std::byte> message, Contents& contents);

}  // namespace anello::wire::contents
