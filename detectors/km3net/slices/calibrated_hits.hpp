// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "km3net/detector.hpp"
#include "km3net/slices/slice.hpp"

namespace anello::km3net {

/// A hit in one number that sorts by time: calibrated time in 1/16 ns since the slice's begin, then channel, then ToT.
class PackedHit {
  public:
    static constexpr double units_per_ns = 16;

    constexpr PackedHit() noexcept = default;
    constexpr PackedHit(std::int64_t time, std::uint32_t channel, std::uint32_t tot_ns) noexcept
        : value_(static_cast<std::uint64_t>(time + offset) << 16 | std::uint64_t{channel} << 8 | tot_ns) {}
    constexpr std::int64_t time() const noexcept { return static_cast<std::int64_t>(value_ >> 16) - offset; }
    constexpr std::uint32_t channel() const noexcept { return value_ >> 8 & 0xff; }
    constexpr std::uint32_t tot_ns() const noexcept { return value_ & 0xff; }
    constexpr double time_ns() const noexcept { return static_cast<double>(time()) / units_per_ns; }
    constexpr bool operator<(const PackedHit& other) const noexcept { return value_ < other.value_; }

  private:
    static constexpr std::int64_t offset = std::int64_t{1} << 32;  // calibrated times may lie before the slice
    std::uint64_t value_ = 0;
};

/// Whether the trigger uses a frame, and if not, why; the rules are those of the experiment's data filter.
enum class FrameFate : std::uint8_t { used, incomplete, out_of_range, out_of_order };

/// Hits of one DOM and slice, calibrated and sorted by time. The constructor allocates all memory.
class CalibratedHits {
  public:
    static constexpr std::uint32_t latest_ns = 105'000'000;  ///< a later raw time is an error

    explicit CalibratedHits(std::uint32_t max_hits);

    // Hot path: no allocation, no lock, no log, no throw.
    /// `packed` has the frame's hits as on the wire. It joins long pulses again, which boards cut at 255 ns.
    FrameFate fill(const Frame& frame, std::span<const std::byte> packed,
                   const std::array<double, n_pmts>& t0_ns) noexcept;
    std::span<const PackedHit> hits() const noexcept { return {sorted_.data(), n_}; }
    /// Hits from begin to end, both included, in 1/16 ns.
    std::span<const PackedHit> between(std::int64_t begin, std::int64_t end) const noexcept;
    std::uint32_t n_continued() const noexcept { return n_continued_; }  ///< hits that continued a long pulse
    const std::array<std::uint32_t, n_pmts>& n_by_pmt() const noexcept { return n_by_pmt_; }

  private:
    FrameFate unpack(const Frame& frame, std::span<const std::byte> packed,
                     const std::array<double, n_pmts>& t0_ns) noexcept;
    void sort() noexcept;

    std::vector<PackedHit> unsorted_, sorted_;
    std::vector<std::uint32_t> begins_;  // of the buckets, index of each one's first hit
    std::uint32_t n_ = 0, n_continued_ = 0;
    std::array<std::uint32_t, n_pmts> n_by_pmt_{};
};

}  // namespace anello::km3net
