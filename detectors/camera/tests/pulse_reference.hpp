// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "camera/filter/pixel_integrator.hpp"

/// The definition of charge and peak, one sample after the other.
namespace anello::camera::test {

struct Pulse {
    double charge = 0;
    std::uint32_t peak_sample = 0;
};

inline Pulse find_pulse(std::span<const std::uint16_t> waveform, const camera::IntegratorConfig& config) {
    Pulse pulse;
    std::uint32_t greatest = 0;
    bool found = false;
    for (std::uint32_t s = 1; s + 1 < waveform.size(); ++s) {
        const std::uint32_t sum = std::uint32_t{waveform[s - 1]} + waveform[s] + waveform[s + 1];
        if (found && sum <= greatest) continue;
        found = true;
        greatest = sum;
        pulse.peak_sample = s;
    }
    double pedestal = 0, sum = 0;
    for (std::uint32_t s = 0; s < config.n_pedestal; ++s) pedestal += waveform[s];
    std::int64_t begin = std::int64_t{pulse.peak_sample} - config.window_before;
    begin = std::clamp<std::int64_t>(begin, 0, static_cast<std::int64_t>(waveform.size()) - config.window_samples);
    for (std::uint32_t s = 0; s < config.window_samples; ++s) sum += waveform[static_cast<std::size_t>(begin) + s];
    pulse.charge = sum - pedestal / config.n_pedestal * config.window_samples;
    return pulse;
}

struct PixelPulse : Pulse {
    bool low_gain = false;
};

/// samples: [gain][pixel][sample] of one board.
inline PixelPulse find_pixel_pulse(std::span<const std::uint16_t> samples, std::uint32_t pixel,
                                   const camera::IntegratorConfig& config) {
    const auto high = samples.subspan(std::size_t{pixel} * config.n_samples, config.n_samples);
    if (config.n_gains == 1 || *std::ranges::max_element(high) < config.saturation) return {find_pulse(high, config)};
    const std::size_t at = (std::size_t{config.pixels_per_board} + pixel) * config.n_samples;
    PixelPulse pulse{find_pulse(samples.subspan(at, config.n_samples), config), true};
    pulse.charge *= static_cast<double>(config.gain_ratio);
    return pulse;
}

}  // namespace anello::camera::test
