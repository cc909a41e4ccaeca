// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "camera/calibrate/coefficients.hpp"

/// Samples as boards send them (R0) become samples above their baseline (R1).
namespace anello::camera {

/// What was done; the first three with the bits of the observatory's event builder (tdp_action).
enum CalibrationStep : std::uint8_t {
    step_baseline = 2,
    step_time_lapse = 4,
    step_spikes = 8,
    step_gain = 16,
    step_flatfield = 32
};

/// What is added, so that samples below the baseline stay unsigned; the observatory's waveform_offset.
inline constexpr std::int32_t calibrated_offset = 400;

/// Where and when a board of DRS4 chips sampled.
struct Drs4Readout {
    wire::camera::FirstCells first_cell{};
    std::uint64_t clock_ticks = 0;  ///< of 7.5 ns
};

enum class Correction : std::uint8_t {
    done,
    no_cells,     ///< baselines are of cells, and the board did not say which it read; samples are as they were
    wrong_cells,  ///< it named a cell that does not exist; samples are as they were
};

/// Corrections of DRS4 chips as ctapipe_io_lst 0.31.1 makes them offline: each cell's own baseline, what is left of the
/// cell's last reading (time lapse), and spikes where the reading before ended. Integers of a sixteenth of a count; the
/// result is within 0.65 counts of the exact one, 0.5 of which is its rounding, where cells rest for 20 us or more:
/// times are in steps of 30 ns.
///
/// PERF NOTE: 16 bits for a baseline and 32 for a cell's last reading make 92 MB for an LST, where the reference has
/// 183 MB. Of an LST event at 10 kHz, 160 us of a core go into baselines and spikes, 500 into time lapse
/// (camera_calibrate_bench).
///
/// What is remembered belongs to a board, so that several threads may correct, each its own boards.
class CameraCalibration {
  public:
    struct Steps {
        bool time_lapse = true, spikes = true, flatfield = false;
        /// Counts above the baseline beyond which a pixel's low gain is taken and its high gain left out; else its high
        /// gain is. 0: both gains stay.
        std::uint32_t gain_threshold = 0;
    };
    /// Pixels of a board whose gain can be selected: as many as low_gain has bits.
    static constexpr std::uint32_t most_selected_pixels = wire::camera::most_selected_pixels;

    /// Throws ConfigError: 1 or 2 gains, and 7 pixels on a board and at most 1024 samples where baselines are of cells;
    /// at most 16 pixels where gains are selected; and a flat field of two gains without that.
    CameraCalibration(CalibrationCoefficients coefficients, const CalibratedShape& shape, Steps steps);

    // Hot path from here on: no allocation, no lock, no log, no throw.
    /// samples: u16 [gain][pixel][sample] of one board, corrected where they stand: rounded, 400 added, held within
    /// 0..65535. readout: null where the board tells no cells. A board's events come in the order in which they were
    /// read; another run_id than before forgets what was before.
    ///
    /// Where gains are selected, [pixel][sample] then stand at the beginning, all in counts of the high gain: those of
    /// the low one are multiplied. low_gain: a bit for each pixel whose low gain was taken, the first pixel's the
    /// lowest; may be null.
    Correction correct(std::uint32_t board, std::uint32_t run_id, std::byte* samples, const Drs4Readout* readout,
                       std::uint16_t* low_gain = nullptr) noexcept;
    /// Asks memory for what correct() will need of this board.
    void prefetch(std::uint32_t board, const Drs4Readout& readout) const noexcept;

    const CalibratedShape& shape() const noexcept { return shape_; }
    /// Of CalibrationStep: what correct() does.
    std::uint8_t steps() const noexcept { return steps_; }
    bool selects_gain() const noexcept { return (steps_ & step_gain) != 0; }

  private:
    static constexpr std::uint16_t no_cell = 0xffff;
    struct alignas(64) Board {
        wire::camera::FirstCells before = unknown();  ///< first cells of the event before
        std::uint32_t run_id = 0;
        static constexpr wire::camera::FirstCells unknown() {
            wire::camera::FirstCells cells{};
            cells.fill(no_cell);
            return cells;
        }
    };
    /// Spikes of a chip in this event: where they begin, from -2 on.
    struct Spikes {
        std::array<std::int32_t, 8> at;
        std::uint32_t n = 0;
    };

    /// A pixel of a board in one of its gains.
    struct Channel {
        std::uint32_t gain, pixel;
        std::size_t number;  ///< of all channels
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
    std::uint32_t row_cells_;               ///< of baselines: the ring, and its begin once more
    std::vector<std::uint16_t> baseline_;   ///< [channel][row_cells_]
    std::vector<std::uint32_t> last_read_;  ///< [channel][cell], in steps of TimeLapseTable, 0 never; empty: not needed
    std::vector<TimeLapseTable> laws_;
    std::vector<float> factor_;  ///< [channel]; empty: samples are not multiplied, and no gain is selected
    std::vector<Board> boards_;
};

}  // namespace anello::camera
