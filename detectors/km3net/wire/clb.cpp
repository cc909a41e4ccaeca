// SPDX-License-Identifier: Apache-2.0
#include "km3net/wire/clb.hpp"

#include <algorithm>

#include "wire/bytes.hpp"

namespace anello::wire::clb {
namespace {

Header read_header(const std::byte* at) noexcept {
    return {.data_type = load_be<std::uint32_t>(at),
            .run_number = load_be<std::uint32_t>(at + 4),
            .udp_sequence = load_be<std::uint32_t>(at + 8),
            .utc_s = load_be<std::uint32_t>(at + 12),
            .utc_16ns = load_be<std::uint32_t>(at + 16),
            .dom_id = load_be<std::uint32_t>(at + 20),
            .dom_status = load_be<std::uint32_t>(at + 24)};
}

bool is_known(std::uint32_t dom_id, std::span<const std::uint32_t> known_doms) noexcept {
    return known_doms.empty() || std::find(known_doms.begin(), known_doms.end(), dom_id) != known_doms.end();
}

std::uint32_t largest_channel(std::span<const std::byte> hits) noexcept {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < hits.size(); i += hit_bytes)
        largest = std::max(largest, static_cast<std::uint32_t>(hits[i]));
    return largest;
}

}  // namespace

Verdict parse(std::span<const std::byte> datagram, std::span<const std::uint32_t> known_doms, PacketView& packet,
              std::size_t n_header_bytes) noexcept {
    if (datagram.size() < n_header_bytes) return Verdict::too_short;
    packet.header = read_header(datagram.data());
    if (n_header_bytes == long_header_bytes)
        for (std::size_t i = 0; i < packet.header.more_status.size(); ++i)
            packet.header.more_status[i] = load_be<std::uint32_t>(datagram.data() + header_bytes + 4 * i);
    packet.hits = datagram.subspan(n_header_bytes);
    if (packet.header.data_type != tdc_data) return Verdict::wrong_magic;
    if (packet.hits.size() % hit_bytes != 0) return Verdict::wrong_length;
    if (!is_known(packet.header.dom_id, known_doms)) return Verdict::unknown_source;
    if (largest_channel(packet.hits) >= n_channels) return Verdict::wrong_hit;
    return (packet.header.dom_status & clock_is_valid) != 0 ? Verdict::ok : Verdict::clock_not_valid;
}

void unpack(const PacketView& packet, Hit* hits) noexcept {
    for (const std::byte *at = packet.hits.data(), *end = at + packet.hits.size(); at != end; at += hit_bytes)
        *hits++ = {static_cast<std::uint8_t>(at[0]), load_be<std::uint32_t>(at + 1), static_cast<std::uint8_t>(at[5])};
}

std::size_t write(std::span<std::byte> datagram, const Header& header, std::span<const Hit> hits,
                  std::size_t n_header_bytes) noexcept {
    const std::size_t length = n_header_bytes + hits.size() * hit_bytes;
    if (datagram.size() < length) return 0;
    std::byte* at = datagram.data();
    const auto& more = header.more_status;
    const std::uint32_t fields[] = {header.data_type,
                                    header.run_number,
                                    header.udp_sequence,
                                    header.utc_s,
                                    header.utc_16ns,
                                    header.dom_id,
                                    header.dom_status,
                                    more[0],
                                    more[1],
                                    more[2]};
    for (const std::uint32_t field : std::span(fields).first(n_header_bytes / 4)) {
        store_be(at, field);
        at += sizeof field;
    }
    for (const Hit& hit : hits) {
        at[0] = std::byte{hit.channel};
        store_be(at + 1, hit.time_ns);
        at[5] = std::byte{hit.time_over_threshold_ns};
        at += hit_bytes;
    }
    return length;
}

}  // namespace anello::wire::clb
