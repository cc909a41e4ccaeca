// SPDX-License-Identifier: Apache-2.0
#include "km3net/slices/calibrated_hits.hpp"

#include <algorithm>
#include <cmath>

#include "wire/bytes.hpp"

namespace anello::km3net {
namespace {

constexpr std::int64_t bucket_shift = 14;  // 1.024 us: 0.2 hits at 7 kHz per PMT, 0.6 hits at 20 kHz per PMT
constexpr std::uint32_t n_buckets = (CalibratedHits::latest_ns + 1'000'000) / 1024;
constexpr std::uint32_t longest_tot_ns = 255;

/// Limits the bucket, as calibration may move a hit beyond either end of the slice.
std::uint32_t bucket_of(PackedHit hit) noexcept {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(hit.time() >> bucket_shift, 0, n_buckets - 1));
}

}  // namespace

CalibratedHits::CalibratedHits(std::uint32_t max_hits)
    : unsorted_(max_hits), sorted_(max_hits), begins_(n_buckets + 1) {}

// Hot path from here on: no allocation, no lock, no log, no throw.
FrameFate CalibratedHits::fill(const Frame& frame, std::span<const std::byte> packed,
                               const std::array<double, n_pmts>& t0_ns) noexcept {
    n_ = n_continued_ = 0;
    n_by_pmt_.fill(0);
    const FrameFate fate = unpack(frame, packed, t0_ns);
    if (fate == FrameFate::used)
        sort();
    else
        n_ = 0;
    return fate;
}

std::span<const PackedHit> CalibratedHits::between(std::int64_t begin, std::int64_t end) const noexcept {
    const auto first = std::ranges::lower_bound(hits(), begin, {}, &PackedHit::time);
    return {first, std::ranges::upper_bound(first, hits().end(), end, {}, &PackedHit::time)};
}

/// Unpacks the pieces in the order in which the board sent them. The times of a channel must not decrease.
FrameFate CalibratedHits::unpack(const Frame& frame, std::span<const std::byte> packed,
                                 const std::array<double, n_pmts>& t0_ns) noexcept {
    std::array<std::uint32_t, n_pmts> last_ns{};
    std::array<std::uint32_t, n_pmts> last_tot_ns{};
    for (const Frame::Piece& piece : std::span(frame.pieces).first(frame.n_pieces)) {
        const std::byte* at = packed.data() + std::size_t{piece.first_hit} * clb::hit_bytes;
        for (std::uint32_t i = 0; i < piece.n_hits; ++i, at += clb::hit_bytes) {
            const auto channel = static_cast<std::uint32_t>(at[0]), tot_ns = static_cast<std::uint32_t>(at[5]);
            const auto raw_ns = wire::load_be<std::uint32_t>(at + 1);
            if (raw_ns > latest_ns) return FrameFate::out_of_range;
            if (raw_ns < last_ns[channel]) return FrameFate::out_of_order;
            const bool is_rest = last_tot_ns[channel] == longest_tot_ns && raw_ns == last_ns[channel] + longest_tot_ns;
            last_ns[channel] = raw_ns;
            last_tot_ns[channel] = tot_ns;
            if (is_rest) {
                ++n_continued_;
                continue;
            }
            ++n_by_pmt_[channel];
            const auto time =
                static_cast<std::int64_t>(std::lrint((raw_ns + t0_ns[channel]) * PackedHit::units_per_ns));
            unsorted_[n_++] = {time, channel, tot_ns};
        }
    }
    return FrameFate::used;
}

/// Sorts into buckets of equal width in time, then within each bucket. No input makes this slower than n log n.
void CalibratedHits::sort() noexcept {
    std::ranges::fill(begins_, 0);
    for (std::uint32_t i = 0; i < n_; ++i) ++begins_[bucket_of(unsorted_[i]) + 1];
    for (std::uint32_t i = 0; i < n_buckets; ++i) begins_[i + 1] += begins_[i];
    for (std::uint32_t i = 0; i < n_; ++i) sorted_[begins_[bucket_of(unsorted_[i])]++] = unsorted_[i];
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < n_buckets; ++i) {
        if (begins_[i] > first + 1) std::sort(sorted_.begin() + first, sorted_.begin() + begins_[i]);
        first = begins_[i];
    }
}

}  // namespace anello::km3net
