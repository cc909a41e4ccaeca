// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "camera/events/event.hpp"
#include "camera/filter/filter_counters.hpp"
#include "camera/filter/pixel_integrator.hpp"
#include "camera/geometry.hpp"
#include "core/counters/counters.hpp"
#include "core/seed.hpp"
#include "core/words.hpp"

/// The second, camera-level filter: which events go on.
namespace anello::camera {

/// What happens to events with missing boards.
enum class IncompletePolicy : std::uint8_t {
    judge,  ///< like any other, by the pixels that are there
    keep,
    reject,
};

struct FilterConfig {
    // filter_keys says what each of these means.
    bool enabled = true;
    float pixel_threshold = 60, charge_threshold = 500;
    std::uint32_t neighbours = 3;
    std::uint32_t prescale = 0;
    double fraction = 0;
    bool keep_calibration = true;
    IncompletePolicy incomplete = IncompletePolicy::judge;
    std::int32_t n_threads = 0;         ///< of the stage pixels, as n_threads_of() takes it
    std::uint64_t seed = default_seed;  ///< of the choice by event number
    void validate() const;              ///< Throws ConfigError.
};

extern const Keys<FilterConfig> filter_keys;

/// Why an event is kept; the first reason that holds. Stored with the event.
enum class KeptBy : std::uint8_t { nothing, no_filter, signal, fraction, prescale, incomplete, calibration };

struct Verdict {
    KeptBy kept_by = KeptBy::nothing;
    std::uint8_t multiplicity = 0;     ///< most pixels above threshold among one of them and those that touch it
    std::uint16_t n_pixels_above = 0;  ///< at most 65,535
    float charge_sum = 0;              ///< counts, of the pixels above threshold

    bool is_kept() const noexcept { return kept_by != KeptBy::nothing; }
};

/// One thread; memory is taken in the constructor. The choice by event number needs no memory of earlier events, so
/// filters side by side agree; the prescale counts what this filter rejects.
class CameraFilter {
  public:
    /// Throws ConfigError.
    CameraFilter(const FilterConfig& config, const CameraGeometry& geometry, CounterPage& page,
                 const std::string& block_name = "filter");

    /// Hot path: no allocation, no lock, no log, no throw. pixels: of this event and of as many pixels as the geometry.
    Verdict decide(const CameraEventView& event, const PixelView& pixels) noexcept;

    const Counters<FilterCounter>& counters() const noexcept { return counters_; }

  private:
    void find_pixels_above(std::span<const float> charge, Verdict& verdict) noexcept;
    std::uint8_t greatest_multiplicity() const noexcept;
    bool has_signal(const Verdict& verdict) const noexcept;
    bool is_drawn(const CameraEventView& event) const noexcept;
    KeptBy reason(const CameraEventView& event, const Verdict& verdict) noexcept;
    void count(const CameraEventView& event, const PixelView& pixels, KeptBy kept_by) noexcept;

    FilterConfig config_;
    std::uint64_t drawn_below_;  ///< hashes of event numbers below it are drawn
    std::uint32_t since_prescale_ = 0;
    std::vector<std::uint32_t> neighbour_offset_, neighbour_;
    std::vector<std::uint8_t> is_above_;  ///< of each pixel
    std::vector<std::uint32_t> above_;    ///< pixels above threshold, n_above_ of them
    std::size_t n_above_ = 0;
    Counters<FilterCounter> counters_;
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<const char*, 3> words_of<camera::IncompletePolicy>{"judge", "keep", "reject"};

}  // namespace anello
