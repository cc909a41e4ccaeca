// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "camera/filter/pixel_backend.hpp"
#include "camera/filter/pixel_integrator.hpp"
#include "core/hd.hpp"
#include "wire/bytes.hpp"

/// Finds peak and area of waveforms. L is a lane type: L::width neighbouring samples of one waveform at a time. The
/// last step over a waveform overlaps the one before, so that all its samples are read and none beyond its end.
namespace anello::camera {

struct Peak {
    std::uint32_t sample;
    bool saturated;
};

/// Returns the middle of the first three neighbours with the greatest sum; valid for any samples.
ANELLO_LANE std::uint32_t find_greatest_sum(const std::byte* waveform, std::uint32_t n_samples) noexcept {
    const auto sample = [&](std::uint32_t at) -> std::uint32_t {
        return wire::load_le<std::uint16_t>(waveform + 2 * at);
    };
    std::uint32_t greatest = 0, middle = 1;
    for (std::uint32_t at = 1; at + 1 < n_samples; ++at) {
        const std::uint32_t sum = sample(at - 1) + sample(at) + sample(at + 1);
        if (sum <= greatest) continue;
        greatest = sum;
        middle = at;
    }
    return middle;
}

/// Compares all sums of three neighbours: each lane keeps its greatest sum and the place, then the lanes are compared.
/// Sums of bright pixels, whose low gain was scaled up, may exceed 16 bits; then find_greatest_sum() finds the peak.
template <class L>
ANELLO_LANE Peak find_peak(const std::byte* waveform, const PulseRule& rule) noexcept {
    const std::uint32_t last = rule.n_samples - 2 - L::width;  // the last step's first sum
    typename L::V greatest = L::set(0), first_at = L::set(0), top = L::set(0);
    for (std::uint32_t step = 0;; step += L::width) {
        const std::uint32_t at = step < last ? step : last;
        const typename L::V left = L::load(waveform + 2 * at), middle = L::load(waveform + 2 * (at + 1)),
                            right = L::load(waveform + 2 * (at + 2)), sum = L::add(L::add(left, middle), right);
        const typename L::V raised = L::max(greatest, sum);
        first_at = L::select(L::equal(raised, greatest), first_at, L::set(static_cast<std::uint16_t>(at)));
        greatest = raised;
        top = L::max(top, left);
        if (at == last) {
            top = L::max(top, L::max(middle, right));  // the two samples that were never at `left`
            break;
        }
    }
    const bool saturated = L::any_at_least(top, rule.saturation);
    if (L::any_at_least(greatest, 65535)) return {find_greatest_sum(waveform, rule.n_samples), saturated};
    const typename L::V position = L::add(first_at, L::positions());
    const typename L::V candidates =
        L::select(L::equal(greatest, L::greatest_everywhere(greatest)), position, L::set(65535));
    return {L::least(candidates) + 1U, saturated};
}

/// Sum of n samples from `begin` on, which lie inside the waveform.
template <class L>
ANELLO_LANE std::uint32_t sum_samples(const std::byte* waveform, std::uint32_t n_samples, std::uint32_t begin,
                                      std::uint32_t n) noexcept {
    std::uint32_t sum = 0;
    for (std::uint32_t done = 0; done < n; done += L::width) {
        const std::uint32_t wanted = begin + done, last = n_samples - L::width;
        const std::uint32_t at = wanted < last ? wanted : last;
        const std::uint32_t end = begin + n - at;
        sum += L::sum_between(L::load(waveform + 2 * at), wanted - at, end < L::width ? end : L::width);
    }
    return sum;
}

/// Returns the begin of the window around a peak, moved so that the window lies inside the waveform.
ANELLO_LANE std::uint32_t window_begin(std::uint32_t peak, const PulseRule& rule) noexcept {
    const std::uint32_t begin = peak > rule.window_before ? peak - rule.window_before : 0;
    const std::uint32_t last = rule.n_samples - rule.window_samples;
    return begin < last ? begin : last;
}

template <class L>
ANELLO_LANE std::int32_t find_area(const std::byte* waveform, const PulseRule& rule, std::uint32_t peak) noexcept {
    const std::uint32_t window =
        sum_samples<typename L::ForSums>(waveform, rule.n_samples, window_begin(peak, rule), rule.window_samples);
    const std::uint32_t pedestal = sum_samples<typename L::ForSums>(waveform, rule.n_samples, 0, rule.n_pedestal);
    return static_cast<std::int32_t>(rule.n_pedestal * window) -
           static_cast<std::int32_t>(rule.window_samples * pedestal);
}

/// PERF NOTE: all peaks of the board come first, then all areas. An area waits for its peak, and a processor looks
/// ahead by only about one pixel: in this order the work on several pixels overlaps (camera_filter_bench).
template <class L>
ANELLO_LANE void find_pulses(const PulseRule& rule, const std::byte* samples, const BoardPulses& pulses) noexcept {
    const std::size_t waveform_bytes = std::size_t{rule.n_samples} * 2;
    const std::byte* const low_gain = samples + rule.n_pixels * waveform_bytes;
    for (std::uint32_t pixel = 0; pixel < rule.n_pixels; ++pixel) {
        Peak peak = find_peak<L>(samples + pixel * waveform_bytes, rule);
        const bool saturated = peak.saturated && rule.n_gains > 1;
        if (saturated) peak = find_peak<L>(low_gain + pixel * waveform_bytes, rule);
        pulses.peak_sample[pixel] = static_cast<std::uint16_t>(peak.sample);
        pulses.flags[pixel] = saturated ? std::uint8_t{pixel_low_gain} : std::uint8_t{0};
    }
    for (std::uint32_t pixel = 0; pixel < rule.n_pixels; ++pixel) {
        const std::byte* const gain = pulses.flags[pixel] == 0 ? samples : low_gain;
        pulses.area[pixel] = find_area<L>(gain + pixel * waveform_bytes, rule, pulses.peak_sample[pixel]);
    }
}

}  // namespace anello::camera
