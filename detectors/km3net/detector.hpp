// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "km3net/wire/clb.hpp"

/// Optical modules (DOMs) of KM3NeT, where they are and how their times are calibrated.
namespace anello::km3net {

inline constexpr std::uint32_t n_pmts = 31;  ///< of a DOM
inline constexpr std::uint32_t max_doms = 4096;
inline constexpr std::uint32_t ticks_per_slice = 6'250'000, slices_per_second = 10;
inline constexpr std::int64_t slice_ns = 100'000'000;

struct Vec {
    double x = 0, y = 0, z = 0;
    Vec operator+(const Vec& b) const noexcept { return {x + b.x, y + b.y, z + b.z}; }
    Vec operator-(const Vec& b) const noexcept { return {x - b.x, y - b.y, z - b.z}; }
    Vec operator*(double k) const noexcept { return {k * x, k * y, k * z}; }
    double dot(const Vec& b) const noexcept { return x * b.x + y * b.y + z * b.z; }
};

struct Dom {
    std::uint32_t id = 0;
    Vec position_m;
    std::array<double, n_pmts> t0_ns{};  ///< calibrated time = raw time + t0
};

/// A line of DOMs, above each other, and what their boards send.
struct LineConfig {
    std::uint32_t n_doms = 18;
    std::uint32_t first_dom_id = 0x30000001;
    double first_height_m = 65, spacing_m = 36;  ///< ARCA
    double t0_spread_ns = 15;                    ///< of each PMT, to both sides
    std::uint64_t seed = 1;                      ///< of the t0
    std::uint32_t detector_id = 1;
    bool long_header = true;
    std::size_t header_bytes() const noexcept {
        return long_header ? wire::clb::long_header_bytes : wire::clb::header_bytes;
    }
};

std::vector<Dom> make_line(const LineConfig& config);

/// Of the PMTs by channel, unit vectors that point outwards; all DOMs are oriented alike. From a public detx file.
const std::array<Vec, n_pmts>& pmt_directions() noexcept;
double cos_between(std::uint32_t pmt, std::uint32_t other) noexcept;

/// Finds DOMs by their id.
class DomIndex {
  public:
    explicit DomIndex(std::span<const Dom> doms);  ///< Throws ConfigError when two have the same id.
    /// Hot path: no allocation, no lock, no log, no throw. The place among the DOMs.
    std::optional<std::uint32_t> find(std::uint32_t dom_id) const noexcept;

  private:
    struct Entry {
        std::uint32_t id, index;
    };
    std::vector<Entry> entries_;  // by id
};

}  // namespace anello::km3net
