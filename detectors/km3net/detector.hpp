// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "km3net/wire/clb.hpp"

/// Positions and time calibration of KM3NeT's optical modules (DOMs).
namespace anello::km3net {

inline constexpr std::uint32_t n_pmts = 31;  ///< photomultipliers of a DOM
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

/// A vertical line of DOMs, and the format in which their boards send.
struct LineConfig {
    std::uint32_t n_doms = 18;
    std::uint32_t first_dom_id = 0x30000001;
    double first_height_m = 65, spacing_m = 36;  ///< ARCA
    double t0_spread_ns = 15;                    ///< each PMT's t0 differs by up to this from the mean, to both sides
    std::uint64_t seed = 1;                      ///< of the random t0
    std::uint32_t detector_id = 1;
    bool long_header = true;
    std::size_t header_bytes() const noexcept {
        return long_header ? wire::clb::long_header_bytes : wire::clb::header_bytes;
    }
};

std::vector<Dom> make_line(const LineConfig& config);

/// Unit vectors in which the PMTs look, by channel, from a public detx file. All DOMs have the same orientation.
const std::array<Vec, n_pmts>& pmt_directions() noexcept;
double cos_between(std::uint32_t pmt, std::uint32_t other) noexcept;

/// Finds DOMs by their id.
class DomIndex {
  public:
    explicit DomIndex(std::span<const Dom> doms);  ///< Throws ConfigError when two have the same id.
    /// Hot path: no allocation, no lock, no log, no throw. Returns the DOM's position in the line's list.
    std::optional<std::uint32_t> find(std::uint32_t dom_id) const noexcept;

  private:
    struct Entry {
        std::uint32_t id, index;
    };
    std::vector<Entry> entries_;  // sorted by id
};

}  // namespace anello::km3net
