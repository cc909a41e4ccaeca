// SPDX-License-Identifier: Apache-2.0
#include "receive/unpack_clb.hpp"

#include <algorithm>

#include "core/clock.hpp"

namespace anello::receive {
namespace {

namespace clb = wire::clb;
constexpr double clb_unit_ns = 16.0;

}  // namespace

wire::Verdict ClbUnpacker::unpack(std::span<const std::byte> datagram, FragmentWriter& writer,
                                  PacketInfo& packet) noexcept {
    writer.begin_packet();
    clb::PacketView view;
    const std::span<const std::uint32_t> known(&dom_id_, dom_id_ == 0 ? 0 : 1);
    const wire::Verdict verdict = clb::parse(datagram, known, view);
    if (verdict != wire::Verdict::ok) return verdict;
    packet.has_burst_id = true;
    packet.burst_id = view.header.utc_s;
    packet.sequence = view.header.udp_sequence;
    packet.n_events = 1;

    const auto time_fine = static_cast<std::uint64_t>(view.header.utc_16ns * (clb_unit_ns / fine_time_ns));
    const std::uint32_t n_hits = view.n_hits();
    FragmentWriter::HitSpace space;
    if (!writer.try_open_fragment(static_cast<std::uint32_t>(time_fine >> 8), static_cast<std::uint8_t>(time_fine),
                                  n_hits, space))
        return wire::Verdict::too_many_hits;
    for (std::uint32_t i = 0; i < n_hits; ++i)
        space.hit_id[i] = static_cast<std::uint16_t>(view.hits[i * clb::hit_bytes]);  // the channel comes first
    std::fill_n(space.hit_time_fine, n_hits, std::int16_t{0});
    writer.close_fragment(n_hits);
    return wire::Verdict::ok;
}

}  // namespace anello::receive
