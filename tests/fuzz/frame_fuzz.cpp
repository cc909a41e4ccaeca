// SPDX-License-Identifier: Apache-2.0
// Ethernet frames as a card or a capture hands them on: what is taken for a datagram lies within what
// was captured; what we write ourselves is read back.
// Built from: engine/receive/frames/udp_frame.cpp engine/receive/frames/ethernet_frame.cpp
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "receive/frames/ethernet_frame.hpp"
#include "receive/frames/udp_frame.hpp"

using namespace anello::receive;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

bool lies_within(std::span<const std::byte> part, std::span<const std::byte> whole) {
    return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

/// The first two bytes say how many more bytes the frame had than were captured.
void read_any(std::span<const std::byte> input) {
    const std::size_t n_cut_off = std::to_integer<std::size_t>(input[0]) | std::to_integer<std::size_t>(input[1]) << 8;
    const std::vector<std::byte> captured(input.begin() + 2, input.end());
    UdpFrame frame{};
    const FrameVerdict verdict = parse_frame(captured, captured.size() + n_cut_off, frame);
    require(verdict < FrameVerdict::count);
    if (verdict != FrameVerdict::udp) return;
    require(lies_within(frame.payload, captured));
    UdpFrame again{};
    const std::vector<std::byte> exact(captured.begin(), captured.end());
    require(parse_frame(exact, exact.size() + n_cut_off, again) == verdict);
    require(again.destination_port == frame.destination_port && std::ranges::equal(again.payload, frame.payload));
}

/// The input is the datagram; route and ports are made of it.
void read_ours(std::span<const std::byte> payload) {
    std::uint16_t port = 0;
    std::memcpy(&port, payload.data(), sizeof port);
    UdpRoute route{};
    route.source = {0x0a000000U | port, port};
    route.destination = {0x0a010000U | port, port};
    std::vector<std::byte> to(std::max(udp_header_bytes + payload.size(), shortest_frame_bytes));
    to.resize(write_udp_frame(route, payload, to));
    UdpFrame frame{};
    require(parse_frame(to, to.size(), frame) == FrameVerdict::udp);
    require(frame.destination_port == port && frame.source == route.source &&
            std::ranges::equal(frame.payload, payload));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::span input(reinterpret_cast<const std::byte*>(data), size);
    read_any(input);
    if (size <= longest_udp_bytes) read_ours(input);
    return 0;
}
