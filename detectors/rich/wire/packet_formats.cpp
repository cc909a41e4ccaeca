// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/packet_formats.hpp"

#include <array>

#include "rich/wire/mep.hpp"

namespace anello::rich {
namespace {

using namespace wire::contents;

constexpr std::array<wire::PacketFormat, 3> formats{{
    {"mep", "NA62's multi-event packet, of the RICH with TEL62 data", nullptr, wire::mep::datagram_bytes, check_mep,
     read_mep},
    {"mtp", "NA62's level-0 primitives", nullptr, wire::mep::datagram_bytes, check_mtp, read_mtp},
    {"rich_frame", "a time frame of some RICH boards, in an MFP", nullptr, nullptr, check_rich_frame, read_rich_frame,
     false},
}};

}  // namespace

std::span<const wire::PacketFormat> packet_formats() noexcept {
    return formats;
}

}  // namespace anello::rich
