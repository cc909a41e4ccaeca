// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/assert.hpp"
#include "wire/bytes.hpp"
#include "wire/mgp.hpp"

namespace anello::wire::mgp {
namespace {

constexpr std::uint32_t bits_per_channel = 9;
constexpr std::uint32_t channel_mask = n_channels - 1;
constexpr std::uint32_t hits_per_group = 8;  ///< 8 hits are 9 whole bytes
constexpr std::size_t group_bytes = 9;

/// Loads the last 1 to 8 bytes of `bytes` as an integer, without reading outside the span.
std::uint64_t load_tail(std::span<const std::byte> bytes, std::size_t n_tail) noexcept {
    const std::byte* end = bytes.data() + bytes.size();
    if (bytes.size() >= 8) return load_le<std::uint64_t>(end - 8) >> (64 - 8 * n_tail);
    if (bytes.size() >= 4) {
        // Only one event's hits are this short, so the tail is the whole span.
        const std::uint64_t low = load_le<std::uint32_t>(bytes.data());
        const std::uint64_t high = load_le<std::uint32_t>(end - 4);
        return low | (high << (8 * (n_tail - 4)));
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n_tail; ++i) value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    return value;
}

void unpack_bits(std::uint64_t bits, std::uint32_t n_hits, std::uint16_t* channel) noexcept {
    for (std::uint32_t i = 0; i < n_hits; ++i, bits >>= bits_per_channel)
        channel[i] = static_cast<std::uint16_t>(bits & channel_mask);
}

void pack_channels(std::byte* to, std::span<const Hit> hits) noexcept {
    std::uint32_t bits = 0, n_bits = 0;
    for (const Hit& hit : hits) {
        bits |= (hit.channel & channel_mask) << n_bits;
        for (n_bits += bits_per_channel; n_bits >= 8; n_bits -= 8, bits >>= 8) *to++ = static_cast<std::byte>(bits);
    }
    if (n_bits > 0) *to = static_cast<std::byte>(bits);
}

std::uint16_t encode_timed_hit(const Hit& hit) noexcept {
    constexpr int half_unit = hit_time_fine_per_unit / 2;
    const int units = std::clamp((hit.time_fine + half_unit) >> 2, -64, 63);
    static_assert(hit_time_fine_per_unit == 1 << 2);
    return static_cast<std::uint16_t>((hit.channel & channel_mask) |
                                      (static_cast<std::uint32_t>(units) << bits_per_channel));
}

}  // namespace

// Hot path: no allocation, no lock, no log, no throw.
void unpack_channels(std::span<const std::byte> hits, std::uint32_t n_hits, std::uint16_t* channel) noexcept {
    ANELLO_ASSERT(hits.size() == packed_hits_bytes(n_hits, false));
    const std::byte* at = hits.data();
    std::uint32_t n_left = n_hits;
    for (; n_left >= hits_per_group; n_left -= hits_per_group, at += group_bytes, channel += hits_per_group) {
        unpack_bits(load_le<std::uint64_t>(at), hits_per_group - 1, channel);
        channel[hits_per_group - 1] = static_cast<std::uint16_t>(load_le<std::uint16_t>(at + 7) >> 7);
    }
    if (n_left > 0) unpack_bits(load_tail(hits, packed_hits_bytes(n_left, false)), n_left, channel);
}

void unpack_timed_hits(std::span<const std::byte> hits, std::uint32_t n_hits, std::uint16_t* channel,
                       std::int16_t* hit_time_fine) noexcept {
    ANELLO_ASSERT(hits.size() == packed_hits_bytes(n_hits, true));
    for (std::uint32_t i = 0; i < n_hits; ++i) {
        const auto word = load_le<std::uint16_t>(hits.data() + std::size_t{2} * i);
        channel[i] = static_cast<std::uint16_t>(word & channel_mask);
        const int units = static_cast<std::int16_t>(word) >> bits_per_channel;
        hit_time_fine[i] = static_cast<std::int16_t>(units * hit_time_fine_per_unit);
    }
}

std::size_t write_event(std::span<std::byte> to, std::uint32_t timestamp_ticks, std::uint8_t fine_time,
                        std::span<const Hit> hits, bool with_time) noexcept {
    const std::size_t length = event_header_bytes + packed_hits_bytes(hits.size(), with_time);
    if (hits.size() > 255 || to.size() < length) return 0;
    restamp(to.data(), timestamp_ticks, fine_time);
    to[5] = static_cast<std::byte>(hits.size());
    std::byte* at = to.data() + event_header_bytes;
    if (with_time) {
        for (std::size_t i = 0; i < hits.size(); ++i) store_le(at + 2 * i, encode_timed_hit(hits[i]));
    } else {
        pack_channels(at, hits);
    }
    return length;
}

void restamp(std::byte* encoded_event, std::uint32_t timestamp_ticks, std::uint8_t fine_time) noexcept {
    store_le(encoded_event, timestamp_ticks);
    encoded_event[4] = std::byte{fine_time};
}

}  // namespace anello::wire::mgp
