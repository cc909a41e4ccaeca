// SPDX-License-Identifier: Apache-2.0
#include "wire/packet_format.hpp"

#include <array>

#include "core/errors.hpp"
#include "wire/bytes.hpp"
#include "wire/camera.hpp"
#include "wire/camera_group.hpp"
#include "wire/clb.hpp"
#include "wire/daq.hpp"
#include "wire/datagram_length.hpp"
#include "wire/mfp.hpp"
#include "wire/mgp.hpp"
#include "wire/packet_contents.hpp"

namespace anello::wire {
namespace {

template <std::uint32_t magic>
bool begins_le(std::span<const std::byte> datagram) noexcept {
    return datagram.size() >= sizeof magic && load_le<std::uint32_t>(datagram.data()) == magic;
}

template <std::uint32_t magic>
bool begins_be(std::span<const std::byte> datagram) noexcept {
    return datagram.size() >= sizeof magic && load_be<std::uint32_t>(datagram.data()) == magic;
}

using namespace contents;

constexpr std::array<PacketFormat, 9> formats{{
    {"mgp", "Anello's multi-event packet", begins_le<mgp::magic>, mgp_datagram_bytes, check_mgp, read_mgp},
    {"camera", "a camera board's fragment", begins_le<camera::magic>, camera_datagram_bytes, check_camera, read_camera},
    {"clb", "hits of KM3NeT's front-end board", begins_be<clb::tdc_data>, nullptr, check_clb, read_clb},
    {"mfp", "multi-fragment packet, between nodes", begins_le<mfp::magic>, nullptr, check_mfp, read_mfp},
    {"camera_group", "an event of some camera boards, in an MFP", begins_le<camera_group::magic>, nullptr,
     check_camera_group, read_camera_group},
    {"mep", "NA62's multi-event packet, of the RICH with TEL62 data", nullptr, mep_datagram_bytes, check_mep, read_mep},
    {"mtp", "NA62's level-0 primitives", nullptr, mep_datagram_bytes, check_mtp, read_mtp},
    {"daq", "KM3NeT's message: slice, summary slice or event", begins_daq, daq::message_bytes, check_daq, read_daq},
    {"rich_frame", "a time frame of some RICH boards, in an MFP", nullptr, nullptr, check_rich_frame, read_rich_frame},
}};

/// Any number of bytes may be a RICH frame: nothing is recognised as one.
bool can_be_recognised(const PacketFormat& format) noexcept {
    return format.read != read_rich_frame;
}

}  // namespace

std::span<const PacketFormat> packet_formats() noexcept {
    return formats;
}

const PacketFormat* find_packet_format(std::string_view name) noexcept {
    for (const PacketFormat& format : formats)
        if (name == format.name) return &format;
    return nullptr;
}

const PacketFormat& packet_format_named(const std::string& name) {
    if (const PacketFormat* const format = find_packet_format(name); format != nullptr) return *format;
    std::string names;
    for (const PacketFormat& format : formats) names += (names.empty() ? "" : ", ") + std::string(format.name);
    throw ConfigError("format", "must be one of " + names, name,
                      "Leave it out to have it recognised, or for raw data.");
}

const PacketFormat* recognise(std::span<const std::byte> datagram) noexcept {
    for (const PacketFormat& format : formats)
        if (format.has_magic != nullptr && format.has_magic(datagram)) return &format;
    Summary summary;
    for (const PacketFormat& format : formats)
        if (format.has_magic == nullptr && can_be_recognised(format) && format.check(datagram, summary) == Verdict::ok)
            return &format;
    return nullptr;
}

std::size_t any_datagram_bytes(std::span<const std::byte> bytes) noexcept {
    for (const PacketFormat& format : formats)
        if (format.has_magic != nullptr && format.has_magic(bytes))
            return format.length_of == nullptr ? 0 : format.length_of(bytes);
    return mep_datagram_bytes(bytes);  // mtp says it in the same place
}

}  // namespace anello::wire
