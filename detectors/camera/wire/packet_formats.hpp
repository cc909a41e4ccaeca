// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wire/packet_format.hpp"

namespace anello::camera {

/// The formats of a camera (fragments of boards, and groups of them), for wire::add_packet_formats().
std::span<const wire::PacketFormat> packet_formats() noexcept;

}  // namespace anello::camera

namespace anello::wire::contents {

Verdict check_camera(std::span<const std::byte> datagram, Summary& summary) noexcept;
Verdict read_camera(std::span<const std::byte> datagram, Contents& contents);
Verdict check_camera_group(std::span<const std::byte> group, Summary& summary) noexcept;
Verdict read_camera_group(std::span<const std::byte> group, Contents& contents);

}  // namespace anello::wire::contents
