// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/events/event.hpp"
#include "camera/filter/pixel_backend.hpp"
#include "core/isa.hpp"

/// Charge and time of every pixel of a camera event, from its waveform alone, without calibration constants.
namespace anello::camera {

/// Waveforms are u16 samples [gain][pixel][sample]; gain 0 is the high gain, gain 1, if there is one, the low gain.
struct IntegratorConfig {
    std::uint32_t n_boards = 265;
    std::uint32_t pixels_per_board = 7;
    std::uint32_t n_gains = 2;
    std::uint32_t n_samples = 60;
    std::uint32_t n_pedestal = 16;     ///< the pedestal is the mean of the first n_pedestal samples
    std::uint32_t window_samples = 8;  ///< charge is the sum of this many samples, less their pedestal
    std::uint32_t window_before = 3;   ///< samples of the window before the peak; it stays inside the waveform
    std::uint16_t saturation = 4000;   ///< if the high gain reaches this, the low gain is used
    float gain_ratio = 13;             ///< high gain / low gain
    Isa isa = Isa::automatic;
    /// Size of a board's waveforms in bytes.
    std::size_t board_bytes() const noexcept { return std::size_t{2} * n_gains * pixels_per_board * n_samples; }
    void validate() const;  ///< Throws ConfigError.
};

/// Peculiarities of a pixel; the bits of PixelView::flags.
enum PixelFlag : std::uint8_t {
    pixel_missing = 1,      ///< its board is not in the event; charge and peak are 0
    pixel_wrong_shape = 2,  ///< its board sent waveforms of another shape; charge and peak are 0
    pixel_low_gain = 4,     ///< the high gain was saturated
};

/// Numbers of boards whose pixels have no charge.
struct BoardsLeftOut {
    std::uint32_t n_missing = 0, n_wrong_shape = 0;

    BoardsLeftOut& operator+=(const BoardsLeftOut& other) noexcept {
        n_missing += other.n_missing;
        n_wrong_shape += other.n_wrong_shape;
        return *this;
    }
};

/// Pixels of one event, pixel = board * pixels_per_board + pixel on the board. Valid until the next event.
struct PixelView {
    std::span<const float> charge;               ///< counts above the pedestal, in units of the high gain
    std::span<const std::uint16_t> peak_sample;  ///< middle of the three neighbouring samples with the greatest sum
    std::span<const std::uint8_t> flags;         ///< PixelFlag
    std::uint32_t n_boards_missing = 0;
    std::uint32_t n_boards_wrong_shape = 0;
};

/// Memory for the results for the pixels of one event.
struct PixelMemory {
    explicit PixelMemory(std::size_t n_pixels = 0) : charge(n_pixels), peak_sample(n_pixels), flags(n_pixels) {}
    PixelView view(const BoardsLeftOut& left_out = {}) const noexcept {
        return {charge, peak_sample, flags, left_out.n_missing, left_out.n_wrong_shape};
    }

    std::vector<float> charge;
    std::vector<std::uint16_t> peak_sample;
    std::vector<std::uint8_t> flags;
};

/// The constructor takes all memory. Results are identical to the bit on all instruction sets.
///
/// They are exact for samples of up to 16 bits. If several sums are the greatest, the first is the peak.
class PixelIntegrator {
  public:
    explicit PixelIntegrator(const IntegratorConfig& config);  ///< Throws ConfigError.

    // Hot path, all: no allocation, no lock, no log, no throw.
    /// Integrates one board; `found` has room for all pixels. Several threads may call it, each for its own boards.
    BoardsLeftOut integrate(const CameraEventView& event, std::uint32_t board, PixelMemory& found) const noexcept;
    /// Prefetches into the cache what integrate() will read for this board.
    void prefetch(const CameraEventView& event, std::uint32_t board) const noexcept;
    /// Integrates all boards. Only one thread may call it.
    PixelView integrate(const CameraEventView& event) noexcept;
    /// Integrates waveforms [board][gain][pixel][sample] of all boards, which are contiguous.
    PixelView integrate(std::span<const std::byte> waveforms) noexcept;

    Isa isa() const noexcept { return isa_; }
    std::uint32_t n_boards() const noexcept { return n_boards_; }
    std::size_t n_pixels() const noexcept { return std::size_t{n_boards_} * rule_.n_pixels; }

  private:
    enum class Board : std::uint8_t { good, one_gain, missing, wrong_shape };
    Board state_of(const CameraEventView& event, std::uint32_t board) const noexcept;
    void integrate_board(std::uint32_t board, const std::byte* samples, PixelMemory& found) const noexcept;
    void integrate_one_gain(const CameraEventView& event, std::uint32_t board, PixelMemory& found) const noexcept;
    void integrate_pixels(std::uint32_t board, const PulseRule& rule, const std::byte* samples, std::uint16_t low_gain,
                          PixelMemory& found) const noexcept;
    void flag_board(std::uint32_t board, PixelFlag flag, PixelMemory& found) const noexcept;

    PulseRule rule_;
    std::uint32_t n_boards_;
    std::size_t board_bytes_;
    std::array<float, 2> counts_per_area_;  ///< of the high and of the low gain
    Isa isa_;
    FindPulses find_;
    PixelMemory found_;
};

}  // namespace anello::camera
