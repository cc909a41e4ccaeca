// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "camera/calibrate/coefficients.hpp"

/// Calibration: turns samples as boards send them (R0) into samples above their baseline (R1).
namespace anello::camera {

/// The steps of calibration; the first three have the bits that the observatory's event builder uses (tdp_action).
enum CalibrationStep : std::uint8_t {
    step_baseline = 2,
    step_time_lapse = 4,
    step_spikes = 8,
    step_gain = 16,
    step_flatfield = 32
};

/// Counts added to each sample, so that samples below the baseline stay unsigned; the observatory's waveform_offset.
inline constexpr std::int32_t calibrated_offset = 400;

/// First cells and time of one readout of a board of DRS4 chips.
struct Drs4Readout {
    wire::camera::FirstCells first_cell{};
    std::uint64_t clock_ticks = 0;  ///< of 7.5 ns
};

enum class Correction : std::uint8_t {
    done,
    no_cells,     ///< each cell has a baseline, but the board did not send its first cells; samples are unchanged
    wrong_cells,  ///< the board named a cell that does not exist; samples are unchanged
};

/// Corrects samples of DRS4 chips as ctapipe_io_lst 0.31.1 does offline: for each cell's baseline, for the remainder of
/// the cell's last reading (time lapse), and for spikes where the previous reading ended. It calculates with integers
/// in sixteenths of a count and times in steps of 30 ns; if a cell rests for 20 us or more between readings, the result
/// is within 0.65 counts of the exact one, 0.5 of which is its rounding.
///
/// PERF NOTE: 16 bits for a baseline and 32 for a cell's last reading make 92 MB for an LST, where the reference has
/// 183 MB. For an LST event at 10 kHz, one core needs 160 us for baselines and spikes and 500 us for time lapse
/// (camera_calibrate_bench).
///
/// Each board has its own state, so that several threads may correct at the same time, each its own boards.
class CameraCalibration {
  public:
    struct Steps {
        bool time_lapse = true, spikes = true, flatfield = false;
        /// Counts above the baseline. If the high gain of a pixel exceeds this, only its low gain is kept, otherwise
        /// only its high gain. 0: both gains are kept.
        std::uint32_t gain_threshold = 0;
    };
    /// Pixels of a board whose gain can be selected: as many as low_gain has bits.
    static constexpr std::uint32_t most_selected_pixels = wire::camera::most_selected_pixels;

    /// Throws ConfigError unless there are 1 or 2 gains; with a baseline for each cell, 7 pixels per board and at most
    /// 1024 samples; with gain selection, at most 16 pixels per board. A flat field of two gains needs gain selection.
    CameraCalibration(CalibrationCoefficients coefficients, const CalibratedShape& shape, Steps steps);

    // Hot path from here on: no allocation, no lock, no log, no throw.
    /// Corrects `samples`, u16 [gain][pixel][sample] of one board, in place: the results are rounded, 400 is added, and
    /// they are limited to 0..65535. readout: null if the board sends no first cells. Give a board's events in the
    /// order in which the board read them; a new run_id discards the state of the earlier run.
    ///
    /// With gain selection, `samples` then begins with [pixel][sample], all in counts of the high gain: samples of the
    /// low gain are multiplied. low_gain, which may be null, gets a bit for each pixel whose low gain was kept; the
    /// first pixel has the lowest bit.
    Correction correct(std::uint32_t board, std::uint32_t run_id, std::byte* samples, const Drs4Readout* readout,
                       std::uint16_t* low_gain = nullptr) noexcept;
    /// Prefetches into the cache what correct() will need for this board.
    void prefetch(std::uint32_t board, const Drs4Readout& readout) const noexcept;

    const CalibratedShape& shape() const noexcept { return shape_; }
    /// Bits of CalibrationStep: the steps of correct().
    std::uint8_t steps() const noexcept { return steps_; }
    bool selects_gain() const noexcept { return (steps_ & step_gain) != 0; }

  private:
    static constexpr std::uint16_t no_cell = 0xffff;
    struct alignas(64) Board {
        wire::camera::FirstCells before = unknown();  ///< first cells of the previous event
        std::uint32_t run_id = 0;
        static constexpr wire::camera::FirstCells unknown() {
            wire::camera::FirstCells cells{};
            cells.fill(no_cell);
            return cells;
        }
    };
    /// Spikes of a chip in this event: their first samples, -2 or later.
    struct Spikes {
        std::array<std::int32_t, 8> at;
        std::uint32_t n = 0;
    };

    /// One gain of one pixel of a board.
    struct Channel {
        std::uint32_t gain, pixel;
        std::size_t number;  ///< among the channels of the camera
    };

    void validate(const Steps& steps) const;
    void take_factors(const Steps& steps);
    std::size_t first_channel(std::uint32_t board) const noexcept {
        return std::size_t{board} * shape_.n_gains * shape_.pixels_per_board;
    }
    std::uint16_t correct_pedestals(std::uint32_t board, std::byte* samples) const noexcept;
    std::uint16_t correct_cells(std::uint32_t board, std::byte* samples, const Drs4Readout& readout) noexcept;
    template <typename Baseline>
    void write(const Channel& channel, std::byte* samples, Baseline parts_at, std::uint16_t& low_gain) const noexcept;
    Spikes spikes_after(std::uint16_t before, std::uint16_t first) const noexcept;
    void add_spikes(const Spikes& spikes, std::size_t channel, std::int32_t* extra) const noexcept;
    void forget(std::uint32_t board, std::uint32_t run_id) noexcept;

    CalibrationCoefficients coefficients_;
    CalibratedShape shape_;
    std::uint8_t steps_;
    std::int32_t gain_threshold_parts_;
    std::uint32_t row_cells_;               ///< baselines per row: the ring, then its begin again
    std::vector<std::uint16_t> baseline_;   ///< [channel][row_cells_]
    std::vector<std::uint32_t> last_read_;  ///< [channel][cell], steps of TimeLapseTable; 0: never; empty: not needed
    std::vector<TimeLapseTable> laws_;
    std::vector<float> factor_;  ///< [channel]; empty: samples are not multiplied, and no gain is selected
    std::vector<Board> boards_;
};

}  // namespace anello::camera
