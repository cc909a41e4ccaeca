// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "camera/calibrate/calibration.hpp"

namespace anello::camera::test {

/// Corrections of one board, sample by sample in double precision, as the text of ctapipe_io_lst describes them.
class ReferenceBoard {
  public:
    ReferenceBoard(const camera::CalibrationCoefficients& coefficients, const camera::CalibratedShape& shape,
                   std::uint32_t board)
        : coefficients_(coefficients), shape_(shape), board_(board) {}

    /// samples and the result: [gain][pixel][sample]. The result has 400 added, and is not rounded.
    std::vector<double> correct(const std::vector<std::uint16_t>& samples, const camera::Drs4Readout& readout) {
        std::vector<double> result;
        for (std::uint32_t g = 0; g < shape_.n_gains; ++g)
            for (std::uint32_t p = 0; p < shape_.pixels_per_board; ++p) add_pixel(g, p, samples, readout, result);
        before_ = readout.first_cell;
        has_before_ = true;
        return result;
    }

  private:
    void add_pixel(std::uint32_t g, std::uint32_t p, const std::vector<std::uint16_t>& samples,
                   const camera::Drs4Readout& readout, std::vector<double>& result) {
        constexpr std::uint32_t chips[2][7] = {{0, 0, 1, 1, 2, 2, 3}, {4, 4, 5, 5, 6, 6, 7}};
        const std::uint32_t chip = chips[g][p], first = readout.first_cell[chip];
        const std::size_t channel = (std::size_t{board_} * shape_.n_gains + g) * shape_.pixels_per_board + p;
        auto& read = read_ms_[g * 7 + p];
        const double now_ms = static_cast<double>(readout.clock_ticks) / 133'333.333333;
        for (std::uint32_t s = 0; s < shape_.n_samples; ++s) {
            const std::uint32_t cell = (first + s) % 4096;
            double value = samples[(g * shape_.pixels_per_board + p) * shape_.n_samples + s] + 400.0;
            value -= coefficients_.baseline[channel * 4096 + cell] / 16.0;
            const camera::TimeLapseLaw& law = coefficients_.laws[coefficients_.law_of_channel[channel]];
            if (const auto then = read.find(cell); then != read.end() && now_ms - then->second < law.t0_ms)
                value -= law.scale_counts * (std::pow((now_ms - then->second) / law.t0_ms, -law.exponent) - 1);
            result.push_back(value - spikes(chip, first, channel, s));
        }
        for (std::uint32_t s = 0; s < shape_.n_samples; ++s) read[(first + s) % 4096] = now_ms;
        const std::uint32_t in_ring = first % 1024;
        if (p % 2 == 0 && in_ring > 767 && in_ring < 1013)
            for (std::uint32_t i = 0; i < 12; ++i) read[(first + 1024 + i) % 4096] = now_ms;
        if (p % 2 == 0 && in_ring >= 1013)
            for (std::uint32_t cell = first + 1024; cell < (first / 1024 + 2) * 1024; ++cell)
                read[cell % 4096] = now_ms;
    }

    double spikes(std::uint32_t chip, std::uint32_t first, std::size_t channel, std::uint32_t sample) const {
        const std::uint32_t last = (before_[chip] + shape_.n_samples - 1) % 1024;
        if (!has_before_ || coefficients_.spike.empty() || last % 2 == 1 || last > 511) return 0;
        double sum = 0;
        for (std::uint32_t ring = 0; ring < 4; ++ring)
            for (const std::uint32_t begin : {1024 * ring + last, 1024 * (ring + 1) - last - 2})
                for (std::uint32_t i = 0; i < 3; ++i)
                    if ((begin + i) % 4096 == (first + sample) % 4096 && reaches(begin, first))
                        sum += coefficients_.spike[channel][i] / 16.0;
        return sum;
    }
    /// Three samples from a cell that lies in the window, or one or two before it.
    bool reaches(std::uint32_t cell, std::uint32_t first) const {
        return (cell + 2 + 4096 - first) % 4096 < shape_.n_samples + 2;
    }

    const camera::CalibrationCoefficients& coefficients_;
    camera::CalibratedShape shape_;
    std::uint32_t board_;
    wire::camera::FirstCells before_{};
    bool has_before_ = false;
    std::map<std::uint32_t, std::map<std::uint32_t, double>> read_ms_;  ///< by channel, by cell
};

}  // namespace anello::camera::test
