// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "camera/calibrate/time_lapse.hpp"
#include "camera/wire/camera.hpp"

namespace anello::camera {

/// A pixel of an LST is sampled into 4 rings of 1024 cells, which are used as one ring of 4096.
inline constexpr std::uint32_t drs4_ring_cells = 1024, drs4_cells = wire::camera::drs4_cells;
inline constexpr std::uint32_t spike_samples = 3;

/// The shape of the camera whose samples are corrected.
struct CalibratedShape {
    std::uint32_t n_boards = 265, pixels_per_board = 7, n_gains = 2, n_samples = 40;
    float gain_ratio = 13;  ///< high gain / low gain, used if no flat field was measured

    std::uint32_t n_pixels() const noexcept { return n_boards * pixels_per_board; }
    std::size_t n_channels() const noexcept { return std::size_t{n_pixels()} * n_gains; }
};

/// Coefficients of the corrections of a camera's samples; channel = (board * n_gains + gain) * pixels_per_board + pixel
/// on the board. Baselines and spikes are in sixteenths of a count.
struct CalibrationCoefficients {
    std::uint32_t n_cells = drs4_cells;                          ///< 1: each channel has one baseline for all cells
    std::vector<std::uint16_t> baseline;                         ///< [channel][cell]
    std::vector<std::array<std::int32_t, spike_samples>> spike;  ///< [channel]; empty: not known
    std::vector<std::uint8_t> law_of_channel;                    ///< [channel]: index into `laws`
    std::vector<TimeLapseLaw> laws;
    std::vector<float> flatfield;  ///< [channel]: counts of the usual pixel's high gain per own count; empty: not known
};

/// Reads a pedestal file as ctapipe_io_lst does: images baseline_mean [gains, pixels, cells] with 4096 cells or 1, and
/// spike_height [gains, pixels, 3], pixels in the order of their numbers. The time lapse (PIXEL_BATCH [gains, pixels];
/// SCALE, EXPONENT and T0 [batches]) is read from time_lapse_file, or if that is empty from `file`, or else is that of
/// the first LST. flatfield [gains, pixels] is our own addition. pixel_ids: for board * pixels_per_board + pixel on the
/// board the pixel's number; 0 to n_pixels - 1 occur once each. Throws ConfigError.
CalibrationCoefficients read_coefficients(const std::string& file, const std::string& time_lapse_file,
                                          const CalibratedShape& shape, std::span<const std::uint32_t> pixel_ids);

}  // namespace anello::camera
