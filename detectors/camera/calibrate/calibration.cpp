// SPDX-License-Identifier: Apache-2.0
#include "camera/calibrate/calibration.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/assert.hpp"
#include "core/errors.hpp"
#include "wire/bytes.hpp"

namespace anello::camera {
namespace {

constexpr std::uint32_t most_samples = drs4_ring_cells;
constexpr std::uint32_t pixels_per_chip = 2;
using wire::camera::drs4_chip;

/// Corrects n samples; the compiler vectorises this loop.
template <typename Baseline>
inline void subtract(std::byte* __restrict samples, std::uint32_t n, Baseline parts_at) noexcept {
    constexpr std::int32_t bias = calibrated_offset * parts_per_count + parts_per_count / 2;  // rounds
    for (std::uint32_t i = 0; i < n; ++i) {
        std::byte* const at = samples + 2 * std::size_t{i};
        const std::int32_t parts =
            std::int32_t{wire::load_le<std::uint16_t>(at)} * parts_per_count + bias - parts_at(i);
        const std::int32_t counts = parts >> 4;
        wire::store_le(at, static_cast<std::uint16_t>(std::clamp(counts, 0, 65535)));
    }
}
static_assert(parts_per_count == 1 << 4);

/// As subtract(), but multiplies, and writes to `scaled`. Returns the largest sample before that, in sixteenths.
template <typename Baseline>
inline std::int32_t scale(const std::byte* __restrict samples, std::byte* __restrict scaled, std::uint32_t n,
                          Baseline parts_at, float factor) noexcept {
    constexpr float bias = calibrated_offset + 0.5F;  // rounds
    const float per_part = factor / parts_per_count;
    std::int32_t most = std::numeric_limits<std::int32_t>::min();
    for (std::uint32_t i = 0; i < n; ++i) {
        const std::size_t at = 2 * std::size_t{i};
        const std::int32_t parts =
            std::int32_t{wire::load_le<std::uint16_t>(samples + at)} * parts_per_count - parts_at(i);
        most = std::max(most, parts);
        const float counts = std::clamp(static_cast<float>(parts) * per_part + bias, 0.0F, 65535.0F);
        wire::store_le(scaled + at, static_cast<std::uint16_t>(static_cast<std::int32_t>(counts)));
    }
    return most;
}

/// Adds to `extra` the remainder of the cells' last reading (time lapse), and stores the time of this one.
void add_time_lapse(const TimeLapseTable& law, std::uint32_t* __restrict last_read, std::uint32_t n, std::uint32_t now,
                    std::int32_t* __restrict extra) noexcept {
    // Neighbouring cells were mostly read at the same time, so that few of them need the table.
    std::uint32_t then = 0;
    std::int32_t parts = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
        if (last_read[i] != then) {
            then = last_read[i];
            const std::uint32_t steps = now - then;
            parts = then != 0 && steps < law.end_steps() ? law.parts(steps) : 0;
        }
        extra[i] += parts;
        last_read[i] = now;
    }
}

/// A board reads 12 more cells of the next ring for its even pixels when the window lies in the last quarter of a ring
/// (ctapipe_io_lst 0.31.1, update_last_readout_time).
void note_hidden_reading(std::uint32_t first, std::uint32_t now, std::uint32_t* last_read) noexcept {
    const std::uint32_t in_ring = first % drs4_ring_cells;
    if (in_ring < 768) return;
    const std::uint32_t begin = first + drs4_ring_cells;
    const std::uint32_t end = in_ring < 1013 ? begin + 12 : (first / drs4_ring_cells + 2) * drs4_ring_cells;
    for (std::uint32_t cell = begin; cell < end; ++cell) last_read[cell % drs4_cells] = now;
}

void check(const char* field, std::uint32_t value, std::uint32_t most, const char* remedy) {
    if (value == 0 || value > most)
        throw ConfigError(field, "must be 1 to " + std::to_string(most) + " with camera_calibrate.file",
                          std::to_string(value), remedy);
}

}  // namespace

void CameraCalibration::validate(const Steps& steps) const {
    const char* const remedy = "Coefficients of cells are of cameras with DRS4 chips, as LST's.";
    check("camera.gains", shape_.n_gains, 2, remedy);
    if (steps.gain_threshold > 0 && shape_.n_gains == 1)
        throw ConfigError("camera_calibrate.gain_threshold", "must be 0 for a camera with one gain",
                          std::to_string(steps.gain_threshold), "There is no gain to choose.");
    if (steps.gain_threshold > 0)
        check("camera.pixels_per_board", shape_.pixels_per_board, most_selected_pixels,
              "camera_calibrate.gain_threshold = 0 keeps both gains.");
    if (steps.flatfield && shape_.n_gains == 2 && steps.gain_threshold == 0)
        throw ConfigError("camera_calibrate.flatfield", "must be false where both gains are kept", "true",
                          "Set camera_calibrate.gain_threshold: 3500 is usual.");
    if (steps.flatfield && coefficients_.flatfield.empty())
        throw ConfigError("camera_calibrate.flatfield", "must be false where camera_calibrate.file has no flat field",
                          "true", "anello calibrate measures one from a run's flat fields.");
    if (steps.flatfield || steps.gain_threshold > 0)
        check("camera.samples", shape_.n_samples, most_samples, "Boards' DRS4 chips have no more.");
    if (coefficients_.n_cells == 1) return;
    if (shape_.pixels_per_board != wire::camera::drs4_pixels)
        throw ConfigError("camera.pixels_per_board", "must be 7 with coefficients of cells",
                          std::to_string(shape_.pixels_per_board), remedy);
    check("camera.samples", shape_.n_samples, most_samples, remedy);
}

CameraCalibration::CameraCalibration(CalibrationCoefficients coefficients, const CalibratedShape& shape, Steps steps)
    : coefficients_(std::move(coefficients)),
      shape_(shape),
      steps_(step_baseline),
      gain_threshold_parts_(static_cast<std::int32_t>(std::min(steps.gain_threshold, 65535U)) * parts_per_count),
      row_cells_(1) {
    validate(steps);
    take_factors(steps);
    boards_.resize(shape.n_boards);
    if (coefficients_.n_cells == 1) {
        baseline_ = std::move(coefficients_.baseline);
        return;
    }
    row_cells_ = drs4_cells + shape.n_samples;  // so that no window wraps
    baseline_.resize(shape.n_channels() * row_cells_);
    for (std::size_t channel = 0; channel < shape.n_channels(); ++channel)
        for (std::size_t cell = 0; cell < row_cells_; ++cell)
            baseline_[channel * row_cells_ + cell] = coefficients_.baseline[channel * drs4_cells + cell % drs4_cells];
    coefficients_.baseline = {};
    if (steps.spikes && !coefficients_.spike.empty()) steps_ |= step_spikes;
    if (!steps.time_lapse) return;
    steps_ |= step_time_lapse;
    for (const TimeLapseLaw& law : coefficients_.laws) laws_.emplace_back(law);
    last_read_.resize(shape.n_channels() * drs4_cells);
}

/// If no flat field was measured, samples of the low gain are multiplied by the ratio of gains only.
void CameraCalibration::take_factors(const Steps& steps) {
    if (steps.gain_threshold > 0) steps_ |= step_gain;
    if (steps.flatfield) {
        steps_ |= step_flatfield;
        factor_ = std::move(coefficients_.flatfield);
    } else if (selects_gain()) {
        factor_.resize(shape_.n_channels(), 1);
        for (std::size_t channel = 0; channel < factor_.size(); ++channel)
            if (channel / shape_.pixels_per_board % 2 == 1) factor_[channel] = shape_.gain_ratio;
    }
}

// Hot path from here on: no allocation, no lock, no log, no throw.
Correction CameraCalibration::correct(std::uint32_t board, std::uint32_t run_id, std::byte* samples,
                                      const Drs4Readout* readout, std::uint16_t* low_gain) noexcept {
    ANELLO_ASSERT(board < shape_.n_boards);
    std::uint16_t nobody = 0;
    std::uint16_t& low = low_gain == nullptr ? nobody : *low_gain;
    if (coefficients_.n_cells == 1) {
        low = correct_pedestals(board, samples);
        return Correction::done;
    }
    if (readout == nullptr) return Correction::no_cells;
    const auto exists = [](std::uint16_t cell) { return cell < drs4_cells; };
    if (!std::ranges::all_of(readout->first_cell, exists)) return Correction::wrong_cells;
    if (boards_[board].run_id != run_id) forget(board, run_id);
    low = correct_cells(board, samples, *readout);
    boards_[board].before = readout->first_cell;
    return Correction::done;
}

/// Corrects the gains one after the other. The high gain comes first: it decides which pixels' low gain is kept.
template <typename Baseline>
void CameraCalibration::write(const Channel& channel, std::byte* samples, Baseline parts_at,
                              std::uint16_t& low_gain) const noexcept {
    const std::size_t row_bytes = std::size_t{2} * shape_.n_samples;
    std::byte* const row = samples + (channel.gain * shape_.pixels_per_board + channel.pixel) * row_bytes;
    if (factor_.empty()) return subtract(row, shape_.n_samples, parts_at);
    const auto bit = static_cast<std::uint16_t>(selects_gain() ? 1U << channel.pixel : 0);
    if (channel.gain == 1 && (low_gain & bit) == 0) return;
    std::array<std::byte, 2 * most_samples> scaled;
    const std::int32_t most = scale(row, scaled.data(), shape_.n_samples, parts_at, factor_[channel.number]);
    if (channel.gain == 0 && most > gain_threshold_parts_) low_gain |= bit;
    std::memcpy(samples + channel.pixel * row_bytes, scaled.data(), row_bytes);
}

std::uint16_t CameraCalibration::correct_pedestals(std::uint32_t board, std::byte* samples) const noexcept {
    std::uint16_t low_gain = 0;
    std::size_t number = first_channel(board);
    for (std::uint32_t gain = 0; gain < shape_.n_gains; ++gain)
        for (std::uint32_t pixel = 0; pixel < shape_.pixels_per_board; ++pixel, ++number) {
            const std::int32_t parts = baseline_[number];
            write(
                {gain, pixel, number}, samples, [parts](std::uint32_t) { return parts; }, low_gain);
        }
    return low_gain;
}

std::uint16_t CameraCalibration::correct_cells(std::uint32_t board, std::byte* samples,
                                               const Drs4Readout& readout) noexcept {
    const std::uint32_t n = shape_.n_samples;
    const auto now = std::max(static_cast<std::uint32_t>(readout.clock_ticks / TimeLapseTable::ticks_per_step), 1U);
    std::uint16_t low_gain = 0;
    std::size_t channel = first_channel(board);
    for (std::uint32_t gain = 0; gain < shape_.n_gains; ++gain) {
        Spikes spikes;
        for (std::uint32_t pixel = 0; pixel < shape_.pixels_per_board; ++pixel, ++channel) {
            const std::size_t chip = drs4_chip(gain, pixel);
            const std::uint32_t first = readout.first_cell[chip];
            std::array<std::int32_t, most_samples> extra;
            std::fill_n(extra.begin(), n, 0);
            if (!last_read_.empty()) {
                const TimeLapseTable& law = laws_[coefficients_.law_of_channel[channel]];
                std::uint32_t* const ring = &last_read_[channel * drs4_cells];
                const std::uint32_t n_before_end = std::min(n, drs4_cells - first);
                add_time_lapse(law, ring + first, n_before_end, now, extra.data());
                add_time_lapse(law, ring, n - n_before_end, now, extra.data() + n_before_end);
                if (pixel % pixels_per_chip == 0) note_hidden_reading(first, now, ring);
            }
            if ((steps_ & step_spikes) != 0) {
                if (pixel % pixels_per_chip == 0)
                    spikes = spikes_after(boards_[board].before[chip], readout.first_cell[chip]);
                add_spikes(spikes, channel, extra.data());
            }
            const std::uint16_t* const baseline = &baseline_[channel * row_cells_ + first];
            write(
                {gain, pixel, channel}, samples, [&](std::uint32_t i) { return baseline[i] + extra[i]; }, low_gain);
        }
    }
    return low_gain;
}

/// Spikes occur only if the previous reading ended in an even cell of the first half of its ring: then at that cell and
/// at its mirror image in each of the four rings (ctapipe_io_lst 0.31.1, get_spike_A_positions).
CameraCalibration::Spikes CameraCalibration::spikes_after(std::uint16_t before, std::uint16_t first) const noexcept {
    Spikes spikes;
    if (before == no_cell) return spikes;
    const std::uint32_t last = (before + shape_.n_samples - 1) % drs4_ring_cells;
    if (last % 2 != 0 || last >= drs4_ring_cells / 2) return spikes;
    for (std::uint32_t ring = 0; ring < 4; ++ring)
        for (const std::uint32_t cell : {drs4_cells - last - 2, last}) {
            const std::uint32_t at = (cell + ring * drs4_ring_cells + drs4_cells - first) % drs4_cells;
            if (at < shape_.n_samples)
                spikes.at[spikes.n++] = static_cast<std::int32_t>(at);
            else if (at + 2 >= drs4_cells)  // the part of the spike inside the window
                spikes.at[spikes.n++] = static_cast<std::int32_t>(at) - static_cast<std::int32_t>(drs4_cells);
        }
    return spikes;
}

void CameraCalibration::add_spikes(const Spikes& spikes, std::size_t channel, std::int32_t* extra) const noexcept {
    const auto n = static_cast<std::int32_t>(shape_.n_samples);
    for (std::uint32_t spike = 0; spike < spikes.n; ++spike)
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(spike_samples); ++i) {
            const std::int32_t at = spikes.at[spike] + i;
            if (at >= 0 && at < n) extra[at] += coefficients_.spike[channel][static_cast<std::size_t>(i)];
        }
}

void CameraCalibration::forget(std::uint32_t board, std::uint32_t run_id) noexcept {
    boards_[board] = {};
    boards_[board].run_id = run_id;
    if (last_read_.empty()) return;
    const std::size_t n_channels = std::size_t{shape_.n_gains} * shape_.pixels_per_board;
    std::fill_n(&last_read_[first_channel(board) * drs4_cells], n_channels * drs4_cells, 0U);
}

void CameraCalibration::prefetch(std::uint32_t board, const Drs4Readout& readout) const noexcept {
    if (coefficients_.n_cells == 1) return;
    constexpr std::size_t line_bytes = 64;
    const auto ask_for = [](const void* from, std::size_t n_bytes) {
        const auto* const begin = static_cast<const char*>(from);
        for (std::size_t at = 0; at < n_bytes; at += line_bytes) __builtin_prefetch(begin + at);
        __builtin_prefetch(begin + n_bytes - 1);
    };
    std::size_t channel = first_channel(board);
    for (std::size_t gain = 0; gain < shape_.n_gains; ++gain)
        for (std::size_t pixel = 0; pixel < shape_.pixels_per_board; ++pixel, ++channel) {
            const std::size_t first = readout.first_cell[drs4_chip(gain, pixel)] % drs4_cells;
            ask_for(&baseline_[channel * row_cells_ + first], shape_.n_samples * sizeof(std::uint16_t));
            if (last_read_.empty()) continue;
            const std::size_t n = std::min<std::size_t>(shape_.n_samples, drs4_cells - first);
            ask_for(&last_read_[channel * drs4_cells + first], n * sizeof(std::uint32_t));
        }
}

}  // namespace anello::camera
