// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wire/packet_format.hpp"

namespace anello::rich {

/// The formats of NA62 (multi-event packets, primitives, frames of the RICH), for wire::add_packet_formats().
std::span<const wire::PacketFormat> packet_formats() noexcept;

}  // namespace anello::rich

namespace anello::wire::contents {

Verdict check_mep(std::span<const std::byte> datagram, Summary& summary) noexcept;
Verdict read_mep(std::span<const std::byte> datagram, Contents& contents);
Verdict check_mtp(std::span<const std::byte> datagram, Summary& summary) noexcept;
Verdict read_mtp(std::span<const std::byte> datagram, Contents& contents);
Verdict check_rich_frame(std::span<const std::byte> fragment, Summary& summary) noexcept;
Verdict read_rich_frame(std::span<const std::byte> fragment, Contents& contents);

}  // namespace anello::wire::contents
