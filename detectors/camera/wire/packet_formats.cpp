// SPDX-License-Identifier: Apache-2.0
#include "camera/wire/packet_formats.hpp"

#include <array>

#include "camera/wire/camera.hpp"
#include "camera/wire/camera_group.hpp"
#include "wire/packet_contents.hpp"

namespace anello::camera {
namespace {

using namespace wire::contents;

constexpr std::array<wire::PacketFormat, 2> formats{{
    {"camera", "a camera board's fragment", begins_le<wire::camera::magic>, wire::camera::datagram_bytes, check_camera,
     read_camera},
    {"camera_group", "an event of some camera boards, in an MFP", begins_le<wire::camera_group::magic>, nullptr,
     check_camera_group, read_camera_group},
}};

}  // namespace

std::span<const wire::PacketFormat> packet_formats() noexcept {
    return formats;
}

}  // namespace anello::camera
