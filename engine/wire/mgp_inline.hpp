// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wire/bytes.hpp"
#include "wire/mgp.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/// The inner loop of reception, part of mgp.hpp.
///
/// PERF NOTE: numbers of hits are practically random, so each branch on one costs a misprediction, about as much as
/// unpacking 16 hits. So the loop unpacks whole groups of 8 hits, and reads and writes beyond the event where the
/// packet and the columns allow it (wire_bench mgp_decode: 2 to 3 times the speed of the exact functions at 5 hits per
/// event).
namespace anello::wire::mgp {

namespace detail {

inline constexpr std::size_t group_hits = 8;
inline constexpr std::size_t group_read_bytes = 16;  ///< a group is 9 or 16 bytes

/// Unpacks 8 channels from 9 bytes.
inline void unpack_group(const std::byte* from, std::uint16_t* channel) noexcept {
#ifdef __SSE2__
    // Hit i begins at bit i of byte i: pair each byte with its neighbour, shift each pair left so that its 9 bits are
    // on top (a multiplication, since SSE2 shifts all by the same), and then all right.
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const __m128i neighbours = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + 1));
    const __m128i pairs = _mm_unpacklo_epi8(bytes, neighbours);
    const __m128i on_top = _mm_mullo_epi16(pairs, _mm_setr_epi16(128, 64, 32, 16, 8, 4, 2, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(channel), _mm_srli_epi16(on_top, 7));
#else
    for (std::size_t i = 0; i < group_hits; ++i)
        channel[i] = static_cast<std::uint16_t>((load_le<std::uint16_t>(from + i) >> i) & (n_channels - 1));
#endif
}

/// Unpacks 8 hits from 16 bytes.
inline void unpack_timed_group(const std::byte* from, std::uint16_t* channel, std::int16_t* hit_time_fine) noexcept {
    static_assert(hit_time_fine_per_unit == 4);
    for (std::size_t i = 0; i < group_hits; ++i) {
        const auto word = load_le<std::uint16_t>(from + 2 * i);
        channel[i] = static_cast<std::uint16_t>(word & (n_channels - 1));
        hit_time_fine[i] = static_cast<std::int16_t>((static_cast<std::int16_t>(word) >> 7) & ~3);
    }
}

}  // namespace detail

inline bool EventReader::next(EventView& event) noexcept {
    if (n_left_ == 0 || rest_.size() < event_header_bytes) return end();
    const auto n_hits = static_cast<std::size_t>(rest_[5]);
    const std::size_t hits_bytes = packed_hits_bytes(n_hits, with_time_);
    if (rest_.size() < event_header_bytes + hits_bytes) return end();
    event.timestamp_ticks = load_le<std::uint32_t>(rest_.data());
    event.fine_time = static_cast<std::uint8_t>(rest_[4]);
    event.n_hits = static_cast<std::uint8_t>(n_hits);
    event.hits = rest_.subspan(event_header_bytes, hits_bytes);
    rest_ = rest_.subspan(event_header_bytes + hits_bytes);
    --n_left_;
    return true;
}

inline void EventReader::unpack_channels(const EventView& event, std::uint16_t* channel) const noexcept {
    if (rest_.size() < detail::group_read_bytes) {
        mgp::unpack_channels(event.hits, event.n_hits, channel);
        return;
    }
    const std::byte* at = event.hits.data();
    for (std::size_t i = 0; i < event.n_hits; i += detail::group_hits, at += 9) detail::unpack_group(at, channel + i);
}

inline void EventReader::unpack_timed_hits(const EventView& event, std::uint16_t* channel,
                                           std::int16_t* hit_time_fine) const noexcept {
    if (rest_.size() < detail::group_read_bytes) {
        mgp::unpack_timed_hits(event.hits, event.n_hits, channel, hit_time_fine);
        return;
    }
    const std::byte* at = event.hits.data();
    for (std::size_t i = 0; i < event.n_hits; i += detail::group_hits, at += 16)
        detail::unpack_timed_group(at, channel + i, hit_time_fine + i);
}

}  // namespace anello::wire::mgp
