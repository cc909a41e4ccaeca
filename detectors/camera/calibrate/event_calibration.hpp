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

/// What became of some of an event's boards.
struct CalibrationTally {
    std::array<std::uint32_t, static_cast<std::size_t>(CalibrateCounter::count)> n{};

    void add(CalibrateCounter counter) noexcept { ++n[static_cast<std::size_t>(counter)]; }
};

/// Corrects events where they stand in event memory, and marks in each board's header what was done with it
/// (mark_calibrated). Counters are of one thread; so is each board.
class EventCalibration {
  public:
    /// pixel_ids: as read_coefficients() takes them. Throws ConfigError.
    EventCalibration(const CalibrateConfig& config, const CalibratedShape& shape,
                     std::span<const std::uint32_t> pixel_ids, CounterPage& page,
                     const std::string& block_name = "calibrate");

    // Hot path, all: no allocation, no lock, no log, no throw.
    /// The board's memory belongs to the caller; each event once, in their order.
    void correct(const CameraEventView& event, std::uint32_t board, CalibrationTally& tally) noexcept;
    /// Asks memory for what correct() will need of this board.
    void prefetch(const CameraEventView& event, std::uint32_t board) const noexcept;
    void count(const CalibrationTally& tally) noexcept;
    /// All boards; one thread.
    void correct(const CameraEventView& event) noexcept;

    /// What is done: "baseline, time lapse, spikes".
    std::string describe() const;
    /// What a file of such events says of it.
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
