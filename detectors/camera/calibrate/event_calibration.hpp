// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "camera/calibrate/calibrate_counters.hpp"
#include "camera/calibrate/calibration.hpp"
#include "camera/events/event.hpp"
#include "core/counters/counters.hpp"
#include "core/keys.hpp"
#include "store/file_rules.hpp"

namespace anello::camera {

/// calibrate_keys says what each of these means.
struct CalibrateConfig {
    std::string file, time_lapse_file;
    bool time_lapse = true, spikes = true, flatfield = false;
    std::uint32_t gain_threshold = 0;

    bool is_on() const noexcept { return !file.empty(); }
    bool selects_gain() const noexcept { return is_on() && gain_threshold > 0; }
};

extern const Keys<CalibrateConfig> calibrate_keys;

/// Counts of the results for some of an event's boards.
struct CalibrationTally {
    std::array<std::uint32_t, static_cast<std::size_t>(CalibrateCounter::count)> n{};

    void add(CalibrateCounter counter) noexcept { ++n[static_cast<std::size_t>(counter)]; }
};

/// Corrects events in event memory, in place, and marks in each board's header which steps were done (mark_calibrated).
/// One thread writes the counters; only one thread works on each board.
class EventCalibration {
  public:
    /// pixel_ids: as for read_coefficients(). Throws ConfigError.
    EventCalibration(const CalibrateConfig& config, const CalibratedShape& shape,
                     std::span<const std::uint32_t> pixel_ids, CounterPage& page,
                     const std::string& block_name = "calibrate");

    // Hot path, all: no allocation, no lock, no log, no throw.
    /// Corrects one board, whose memory the caller owns. Call it once per event, in the order of events.
    void correct(const CameraEventView& event, std::uint32_t board, CalibrationTally& tally) noexcept;
    /// Prefetches into the cache what correct() will need for this board.
    void prefetch(const CameraEventView& event, std::uint32_t board) const noexcept;
    void count(const CalibrationTally& tally) noexcept;
    /// Corrects all boards and counts them. Only one thread may call it.
    void correct(const CameraEventView& event) noexcept;

    /// The steps for the operator, such as "baseline, time lapse, spikes".
    std::string describe() const;
    /// The attributes of a file of such events that describe the calibration.
    std::vector<store::FileAttribute> attributes() const;
    const Counters<CalibrateCounter>& counters() const noexcept { return counters_; }

  private:
    enum class Board : std::uint8_t { good, missing, wrong_shape };
    Board state_of(const CameraEventView& event, std::uint32_t board) const noexcept;
    Correction correct_board(const CameraEventView& event, std::uint32_t board) noexcept;

    std::string file_;
    CameraCalibration calibration_;
    std::size_t board_bytes_;
    Counters<CalibrateCounter> counters_;
};

}  // namespace anello::camera
