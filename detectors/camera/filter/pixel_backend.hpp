// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// One function per instruction set, each compiled with its own flags. Call one only if its ISA is_available().
namespace anello::camera {

struct PulseRule {
    std::uint32_t n_pixels, n_gains, n_samples;
    std::uint32_t n_pedestal, window_samples, window_before;
    std::uint16_t saturation;
};

/// Results for one board's pixels. They are integers, so that all instruction sets agree.
struct BoardPulses {
    std::int32_t* area;  ///< n_pedestal * (sum of the window) - window_samples * (sum of the pedestal's samples)
    std::uint16_t* peak_sample;
    std::uint8_t* flags;  ///< PixelFlag
};

/// samples: u16 [gain][pixel][sample], at any address. Each needs at least this many samples per waveform.
inline constexpr std::uint32_t min_samples_scalar = 3, min_samples_sse42 = 10, min_samples_avx2 = 18,
                               min_samples_avx512 = 34;
using FindPulses = void (*)(const PulseRule& rule, const std::byte* samples, const BoardPulses& pulses) noexcept;
void find_pulses_scalar(const PulseRule& rule, const std::byte* samples, const BoardPulses& pulses) noexcept;
void find_pulses_sse42(const PulseRule& rule, const std::byte* samples, const BoardPulses& pulses) noexcept;
void find_pulses_avx2(const PulseRule& rule, const std::byte* samples, const BoardPulses& pulses) noexcept;
void find_pulses_avx512(const PulseRule& rule, const std::byte* samples, const BoardPulses& pulses) noexcept;

}  // namespace anello::camera
