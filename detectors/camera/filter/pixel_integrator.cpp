// SPDX-License-Identifier: Apache-2.0
#include "camera/filter/pixel_integrator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "camera/events/builder/slot.hpp"
#include "core/assert.hpp"
#include "core/errors.hpp"

namespace anello::camera {
namespace {

constexpr std::uint32_t most_pixels = 255;  // per board

struct Backend {
    Isa isa;
    std::uint32_t min_samples;
    FindPulses find;
};
/// Instruction sets, the widest first.
constexpr std::array<Backend, 4> backends{{{Isa::avx512, min_samples_avx512, &find_pulses_avx512},
                                           {Isa::avx2, min_samples_avx2, &find_pulses_avx2},
                                           {Isa::sse42, min_samples_sse42, &find_pulses_sse42},
                                           {Isa::scalar, min_samples_scalar, &find_pulses_scalar}}};

/// Returns the widest instruction set that is allowed, that this processor has, and that a waveform fills.
const Backend& choose(const IntegratorConfig& config) noexcept {
    for (const Backend& backend : backends) {
        const bool wanted = config.isa == Isa::automatic || backend.isa <= config.isa;
        if (wanted && is_available(backend.isa) && config.n_samples >= backend.min_samples) return backend;
    }
    return backends.back();
}

void check(const char* field, std::uint32_t value, std::uint32_t least, std::uint32_t most, const char* remedy) {
    if (value < least || value > most)
        throw ConfigError(field, "must be " + std::to_string(least) + " to " + std::to_string(most),
                          std::to_string(value), remedy);
}

const IntegratorConfig& validated(const IntegratorConfig& config) {
    config.validate();
    return config;
}

}  // namespace

void IntegratorConfig::validate() const {
    // So that n_pedestal * window_samples * 65535 fits the kernel's integers.
    constexpr std::uint32_t most_summed = 128;
    check("camera.boards", n_boards, 1, max_camera_boards, "265 boards make a camera of LST or NectarCAM.");
    check("camera.pixels_per_board", pixels_per_board, 1, most_pixels, "7 pixels make a board of LST or NectarCAM.");
    check("camera.gains", n_gains, 1, 2, "Without a low gain, 1.");
    check("camera.samples", n_samples, 3, wire::camera::max_payload_bytes / 2,
          "Data without waveforms cannot be integrated: switch the filter off.");
    check("pedestal_samples", n_pedestal, 1, std::min(n_samples, most_summed), "Choose samples before the pulse.");
    check("window_samples", window_samples, 1, std::min(n_samples, most_summed), "Choose the width of a pulse.");
    check("window_before", window_before, 0, window_samples - 1, "The peak lies in its window.");
    if (!std::isfinite(gain_ratio) || gain_ratio <= 0)
        throw ConfigError("gain_ratio", "must be above 0", std::to_string(gain_ratio),
                          "High gain over low gain, about 13 for NectarCAM.");
    if (!is_available(isa))
        throw ConfigError("isa", "must be one that this processor can run", std::string(name_of(isa)),
                          "Leave it at automatic.");
}

PixelIntegrator::PixelIntegrator(const IntegratorConfig& config)
    : rule_{validated(config).pixels_per_board,
            config.n_gains,
            config.n_samples,
            config.n_pedestal,
            config.window_samples,
            config.window_before,
            config.saturation},
      n_boards_(config.n_boards),
      board_bytes_(config.board_bytes()),
      counts_per_area_{1.0F / static_cast<float>(config.n_pedestal),
                       config.gain_ratio / static_cast<float>(config.n_pedestal)},
      isa_(choose(config).isa),
      find_(choose(config).find),
      found_(n_pixels()) {}

PixelIntegrator::Board PixelIntegrator::state_of(const CameraEventView& event, std::uint32_t board) const noexcept {
    if (board >= event.shape.n_boards || !event.present.contains(board)) return Board::missing;
    const CameraWaveforms found = waveforms_in(event.slot(board));
    const bool is_one_gain = found.is_gain_selected && found.n_gains == 1;
    const std::size_t n_bytes = is_one_gain ? board_bytes_ / rule_.n_gains : board_bytes_;
    const bool fits = found.n_samples == rule_.n_samples && found.n_pixels == rule_.n_pixels &&
                      (is_one_gain || found.n_gains == rule_.n_gains) && found.waveform_bytes() == n_bytes;
    if (!fits) return Board::wrong_shape;
    return is_one_gain ? Board::one_gain : Board::good;
}

void PixelIntegrator::integrate_board(std::uint32_t board, const std::byte* samples,
                                      PixelMemory& found) const noexcept {
    integrate_pixels(board, rule_, samples, 0, found);
}

/// For boards that send one gain of each pixel, chosen by the front end. If samples were calibrated, they are already
/// in counts of the high gain.
void PixelIntegrator::integrate_one_gain(const CameraEventView& event, std::uint32_t board,
                                         PixelMemory& found) const noexcept {
    PulseRule rule = rule_;
    rule.n_gains = 1;
    const std::byte* const slot = event.slot(board);
    integrate_pixels(board, rule, event.payload(board), is_calibrated(slot) ? 0 : low_gain_in(slot), found);
}

/// low_gain: a bit for each pixel that has only samples of the low gain.
void PixelIntegrator::integrate_pixels(std::uint32_t board, const PulseRule& rule, const std::byte* samples,
                                       std::uint16_t low_gain, PixelMemory& found) const noexcept {
    const std::size_t first = std::size_t{board} * rule.n_pixels;
    std::array<std::int32_t, most_pixels> area;
    find_(rule, samples, {area.data(), &found.peak_sample[first], &found.flags[first]});
    for (std::size_t pixel = 0; low_gain != 0; ++pixel, low_gain = static_cast<std::uint16_t>(low_gain >> 1))
        if ((low_gain & 1) != 0) found.flags[first + pixel] |= pixel_low_gain;
    for (std::size_t pixel = 0; pixel < rule_.n_pixels; ++pixel) {
        const std::size_t gain = (found.flags[first + pixel] & pixel_low_gain) != 0 ? 1 : 0;
        found.charge[first + pixel] = static_cast<float>(area[pixel]) * counts_per_area_[gain];
    }
}

void PixelIntegrator::flag_board(std::uint32_t board, PixelFlag flag, PixelMemory& found) const noexcept {
    const auto first = static_cast<std::ptrdiff_t>(std::size_t{board} * rule_.n_pixels);
    const auto n = static_cast<std::ptrdiff_t>(rule_.n_pixels);
    std::fill_n(found.charge.begin() + first, n, 0.0F);
    std::fill_n(found.peak_sample.begin() + first, n, std::uint16_t{0});
    std::fill_n(found.flags.begin() + first, n, std::uint8_t{flag});
}

/// PERF NOTE: the processor's own prefetch restarts in every slot, as low gains, which are not read, lie in between.
/// With this prefetch of one board ahead, memory is fast enough (camera_filter_bench, 64 events).
void PixelIntegrator::prefetch(const CameraEventView& event, std::uint32_t board) const noexcept {
    if (board >= n_boards_ || board >= event.shape.n_boards || !event.present.contains(board)) return;
    const std::byte* const slot = event.slot(board);
    const std::size_t n = std::min(wire::camera::header_bytes + board_bytes_ / rule_.n_gains, event.shape.slot_bytes());
    for (std::size_t at = 0; at < n; at += 64) __builtin_prefetch(slot + at);
}

BoardsLeftOut PixelIntegrator::integrate(const CameraEventView& event, std::uint32_t board,
                                         PixelMemory& found) const noexcept {
    switch (state_of(event, board)) {
        case Board::good:
            integrate_board(board, event.payload(board), found);
            return {};
        case Board::one_gain:
            integrate_one_gain(event, board, found);
            return {};
        case Board::missing:
            flag_board(board, pixel_missing, found);
            return {.n_missing = 1};
        case Board::wrong_shape:
            flag_board(board, pixel_wrong_shape, found);
            return {.n_wrong_shape = 1};
    }
    return {};
}

PixelView PixelIntegrator::integrate(const CameraEventView& event) noexcept {
    BoardsLeftOut left_out;
    for (std::uint32_t board = 0; board < n_boards_; ++board) {
        prefetch(event, board + 1);
        left_out += integrate(event, board, found_);
    }
    return found_.view(left_out);
}

PixelView PixelIntegrator::integrate(std::span<const std::byte> waveforms) noexcept {
    ANELLO_ASSERT(waveforms.size() == n_boards_ * board_bytes_);
    for (std::uint32_t board = 0; board < n_boards_; ++board)
        integrate_board(board, waveforms.data() + board * board_bytes_, found_);
    return found_.view();
}

}  // namespace anello::camera
