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

/// The second, camera-level filter: decides which events are kept.
namespace anello::camera {

/// Treatment of events with missing boards.
enum class IncompletePolicy : std::uint8_t {
    judge,  ///< like any other event, by the pixels that it has
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
    std::int32_t n_threads = 0;         ///< threads of the stage pixels, argument of n_threads_of()
    std::uint64_t seed = default_seed;  ///< seed of the choice by event number
    void validate() const;              ///< Throws ConfigError.
};

extern const Keys<FilterConfig> filter_keys;

/// The reason why an event is kept; if several hold, the first. It is stored with the event.
enum class KeptBy : std::uint8_t { nothing, no_filter, signal, fraction, prescale, incomplete, calibration };

struct Verdict {
    KeptBy kept_by = KeptBy::nothing;
    std::uint8_t multiplicity = 0;     ///< largest number of pixels above threshold among a pixel and its neighbours
    std::uint16_t n_pixels_above = 0;  ///< at most 65,535
    float charge_sum = 0;              ///< charge of the pixels above threshold, counts

    bool is_kept() const noexcept { return kept_by != KeptBy::nothing; }
};

/// Only one thread uses it; the constructor takes all memory. The choice by event number does not depend on earlier
/// events, so that parallel filters agree; the prescale counts the events that this filter rejects.
class CameraFilter {
  public:
    /// Throws ConfigError.
    CameraFilter(const FilterConfig& config, const CameraGeometry& geometry, CounterPage& page,
                 const std::string& block_name = "filter");

    /// Hot path: no allocation, no lock, no log, no throw. pixels: those of this event, as many as in the geometry.
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
