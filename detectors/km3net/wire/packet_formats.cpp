// SPDX-License-Identifier: Apache-2.0
#include "km3net/wire/packet_formats.hpp"

#include <array>

#include "km3net/wire/clb.hpp"
#include "km3net/wire/daq.hpp"
#include "wire/packet_contents.hpp"

namespace anello::km3net {
namespace {

using namespace wire::contents;

constexpr std::array<wire::PacketFormat, 2> formats{{
    {"clb", "hits of KM3NeT's front-end board", begins_be<wire::clb::tdc_data>, nullptr, check_clb, read_clb},
    {"daq", "KM3NeT's message: slice, summary slice or event", begins_daq, wire::daq::message_bytes, check_daq,
     read_daq},
}};

}  // namespace

std::span<const wire::PacketFormat> packet_formats() noexcept {
    return formats;
}

}  // namespace anello::km3net
