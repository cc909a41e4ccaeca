// SPDX-License-Identifier: Apache-2.0
#include "camera/source/simulation.hpp"

#include <algorithm>
#include <cmath>

#include "camera/wire/camera.hpp"
#include "core/assert.hpp"
#include "source/config_check.hpp"
#include "wire/bytes.hpp"

namespace anello::camera {
namespace {

constexpr std::uint64_t image_stream = 0x1a6e, noise_stream = 0x4015e;
constexpr double time_share = 0.4;  ///< share of the readout window before the light arrives
constexpr double cell_mm = camera_pixel_pitch_mm;
/// Light that is farther from the nearest pixel's centre than a hexagon's corner has missed the camera.
constexpr double corner_mm = 0.5773503 * camera_pixel_pitch_mm;

/// A pulse of height 1: 1 / (1 + (t / scale)^2)^4, with one scale for each side. Half height is at 0.435 scale.
constexpr double half_height_at = 0.4349785;
constexpr double pulse_reach = 3.5;  // in scales; there the pulse has fallen below 1e-4

double pulse(double t_ns, double scale_ns) noexcept {
    const double x = t_ns / scale_ns, base = 1 + x * x, square = base * base;
    return 1 / (square * square);
}

std::uint64_t stream_of(std::uint64_t kind, std::uint32_t event, std::uint32_t board) noexcept {
    return source::mix64(kind << 40 | board) + event;
}

}  // namespace

std::uint8_t trigger_tag_of(const CameraSimulationConfig& config, std::uint32_t event) noexcept {
    constexpr double rounding = 1e-9;  // so that 0.1 of 10 events is one
    const auto before = [](double share, double n) { return std::floor(n * share + rounding); };
    const double both = config.pedestal_share + config.flatfield_share, n_calibration = before(both, event);
    if (before(both, event + 1.0) == n_calibration) return wire::camera::tag_mono;
    const double of_these = config.pedestal_share / both;
    return before(of_these, n_calibration + 1) == before(of_these, n_calibration) ? wire::camera::tag_calibration
                                                                                  : wire::camera::tag_pedestal;
}

void CameraSimulationConfig::validate() const {
    source::check_range("signal_share", signal_share, 0, 1);
    source::check_range("pedestal_share", pedestal_share, 0, 1);
    source::check_range("flatfield_share", flatfield_share, 0, 1);
    source::check_range("flatfield_pe", flatfield_pe, 0, 1000);
    source::check_range("min_pe", min_pe, 1, max_pe);
    source::check_range("max_pe", max_pe, 1, 1e6);
    source::check_range("min_length_mm", min_length_mm, 1, max_length_mm);
    source::check_range("max_length_mm", max_length_mm, 1, 10'000);
    source::check_range("min_width_mm", min_width_mm, 1, max_width_mm);
    source::check_range("max_width_mm", max_width_mm, 1, 10'000);
    source::check_range("max_time_gradient_ns_per_mm", max_time_gradient_ns_per_mm, 0, 1);
    source::check_range("pe_time_sd_ns", pe_time_sd_ns, 0, 100);
    source::check_range("pe_charge_sd", pe_charge_sd, 0, 2);
    source::check_range("pulse_rise_ns", pulse_rise_ns, 0.1, 1000);
    source::check_range("pulse_fall_ns", pulse_fall_ns, 0.1, 1000);
    source::check_range("max_adc", max_adc, 1, 65535);
    source::check_range("pedestal_adc", pedestal_adc, 0, max_adc);
}

CameraSimulation::CameraSimulation(const CameraSimulationConfig& config, const WaveformShape& shape, std::uint64_t seed)
    : config_(config),
      shape_(shape),
      seed_(seed),
      geometry_(camera_geometry(config.pixels_file, shape.n_boards, shape.n_pixels)),
      light_(std::size_t{geometry_.n_pixels()} * shape.n_samples) {
    config.validate();
    make_grid();
}

/// Lists the pixels of each square cell, so that the pixel that light hits is searched among a few.
void CameraSimulation::make_grid() {
    double largest_mm = 0;
    for (std::uint32_t pixel = 0; pixel < geometry_.n_pixels(); ++pixel) {
        const double x = geometry_.x_mm[pixel], y = geometry_.y_mm[pixel];
        largest_mm = std::max({largest_mm, std::abs(x), std::abs(y)});
        radius_mm_ = std::max(radius_mm_, std::sqrt(x * x + y * y));
    }
    n_cells_ = 2 * static_cast<std::uint32_t>(largest_mm / cell_mm) + 4;
    const auto cell_of = [this](std::uint32_t pixel) {
        const auto along = [this](double at_mm) {
            return static_cast<std::uint32_t>(at_mm / cell_mm + n_cells_ / 2.0);
        };
        return along(geometry_.y_mm[pixel]) * n_cells_ + along(geometry_.x_mm[pixel]);
    };
    for (std::uint32_t pixel = 0; pixel < geometry_.n_pixels(); ++pixel) cell_pixel_.push_back(pixel);
    std::stable_sort(cell_pixel_.begin(), cell_pixel_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return cell_of(a) < cell_of(b); });
    for (std::uint32_t cell = 0, i = 0; cell <= n_cells_ * n_cells_; ++cell) {
        while (i < cell_pixel_.size() && cell_of(cell_pixel_[i]) < cell) ++i;
        cell_offset_.push_back(i);
    }
}

std::uint32_t CameraSimulation::pixel_at(double x_mm, double y_mm) const noexcept {
    const double column = x_mm / cell_mm + n_cells_ / 2.0, row = y_mm / cell_mm + n_cells_ / 2.0;
    if (!(column >= 1 && column < n_cells_ - 1 && row >= 1 && row < n_cells_ - 1)) return no_pixel;
    const auto cell_x = static_cast<std::uint32_t>(column), cell_y = static_cast<std::uint32_t>(row);
    std::uint32_t nearest = no_pixel;
    double least = corner_mm * corner_mm;
    for (std::uint32_t y = cell_y - 1; y <= cell_y + 1; ++y) {
        for (std::uint32_t i = cell_offset_[y * n_cells_ + cell_x - 1]; i < cell_offset_[y * n_cells_ + cell_x + 2];
             ++i) {
            const std::uint32_t pixel = cell_pixel_[i];
            const double dx = geometry_.x_mm[pixel] - x_mm, dy = geometry_.y_mm[pixel] - y_mm;
            const double distance = dx * dx + dy * dy;
            if (distance > least) continue;
            least = distance;
            nearest = pixel;
        }
    }
    return nearest;
}

CameraTruth CameraSimulation::draw_ellipse(source::Random& random) const {
    double axis_x = 0, axis_y = 0, x = 0, y = 0;
    random.direction(axis_x, axis_y);
    do {
        x = random.uniform(-1, 1);
        y = random.uniform(-1, 1);
    } while (x * x + y * y > 1);
    const double reach_mm = 0.7 * radius_mm_;
    return {.x_mm = static_cast<float>(x * reach_mm),
            .y_mm = static_cast<float>(y * reach_mm),
            .length_mm = static_cast<float>(random.uniform(config_.min_length_mm, config_.max_length_mm)),
            .width_mm = static_cast<float>(random.uniform(config_.min_width_mm, config_.max_width_mm)),
            .axis_x = static_cast<float>(axis_x),
            .axis_y = static_cast<float>(axis_y),
            .time_ns = static_cast<float>(time_share * shape_.n_samples + random.uniform(-2, 2)),
            .time_gradient_ns_per_mm = static_cast<float>(
                random.uniform(-config_.max_time_gradient_ns_per_mm, config_.max_time_gradient_ns_per_mm))};
}

CameraTruth CameraSimulation::begin_event(std::uint32_t event) {
    event_ = event;
    std::fill(light_.begin(), light_.end(), 0);
    source::Random random(seed_, stream_of(image_stream, event, 0));
    CameraTruth truth{.trigger_tag = trigger_tag_of(config_, event)};
    if (truth.trigger_tag == wire::camera::tag_calibration)
        draw_flat_field(random, truth);
    else if (truth.trigger_tag == wire::camera::tag_mono && random.uniform() < config_.signal_share)
        draw_shower(random, truth);
    return truth;
}

/// Adds a flat field: the same mean number of photo-electrons in each pixel, at the same time.
void CameraSimulation::draw_flat_field(source::Random& random, CameraTruth& truth) {
    truth.time_ns = static_cast<float>(time_share * shape_.n_samples);
    for (std::uint32_t pixel = 0; pixel < geometry_.n_pixels(); ++pixel) {
        const std::uint32_t n_pe = random.poisson(config_.flatfield_pe);
        truth.n_pe += static_cast<float>(n_pe);
        for (std::uint32_t i = 0; i < n_pe; ++i) {
            const double time_ns = truth.time_ns + config_.pe_time_sd_ns * random.gaussian();
            add_photo_electron(pixel, time_ns, std::max(0.0, 1 + config_.pe_charge_sd * random.gaussian()));
        }
    }
}

void CameraSimulation::draw_shower(source::Random& random, CameraTruth& truth) {
    const std::uint8_t tag = truth.trigger_tag;
    truth = draw_ellipse(random);
    truth.trigger_tag = tag;
    // A spectrum that falls as the square of the number, as images of showers do.
    const double mean_pe = config_.min_pe / (1 - random.uniform() * (1 - config_.min_pe / config_.max_pe));
    for (std::uint32_t n_left = random.poisson(mean_pe); n_left > 0; --n_left) {
        const double along = truth.length_mm * random.gaussian(), across = truth.width_mm * random.gaussian();
        const double time_ns =
            truth.time_ns + truth.time_gradient_ns_per_mm * along + config_.pe_time_sd_ns * random.gaussian();
        const double charge = std::max(0.0, 1 + config_.pe_charge_sd * random.gaussian());
        const std::uint32_t pixel = pixel_at(truth.x_mm + along * truth.axis_x - across * truth.axis_y,
                                             truth.y_mm + along * truth.axis_y + across * truth.axis_x);
        if (pixel == no_pixel) continue;
        truth.n_pe += 1;
        add_photo_electron(pixel, time_ns, charge);
    }
}

void CameraSimulation::add_photo_electron(std::uint32_t pixel, double time_ns, double charge) noexcept {
    const double rise_ns = config_.pulse_rise_ns / half_height_at, fall_ns = config_.pulse_fall_ns / half_height_at;
    const double end = static_cast<double>(shape_.n_samples);
    const double from = std::clamp(time_ns - pulse_reach * rise_ns, 0.0, end);
    const double to = std::clamp(time_ns + pulse_reach * fall_ns, 0.0, end);
    double* light = light_.data() + std::size_t{pixel} * shape_.n_samples;
    for (auto sample = static_cast<std::uint32_t>(from); sample < static_cast<std::uint32_t>(to); ++sample) {
        const double t_ns = sample - time_ns;
        light[sample] += charge * pulse(t_ns, t_ns < 0 ? rise_ns : fall_ns);
    }
}

void CameraSimulation::write_waveforms(std::uint32_t board, std::span<std::byte> payload) const {
    ANELLO_ASSERT(board < shape_.n_boards && payload.size() == shape_.payload_bytes());
    source::Random random(seed_, stream_of(noise_stream, event_, board));
    std::byte* at = payload.data();
    const std::size_t n_values = std::size_t{shape_.n_pixels} * shape_.n_samples;
    const double* light = light_.data() + board * n_values;
    for (std::uint32_t gain = 0; gain < shape_.n_gains; ++gain) {
        for (std::size_t i = 0; i < n_values; ++i, at += sizeof(std::uint16_t)) {
            const double adc = config_.pedestal_adc + config_.noise_adc[gain] * random.gaussian() +
                               config_.pe_height_adc[gain] * light[i];
            wire::store_le(at, static_cast<std::uint16_t>(std::clamp(adc + 0.5, 0.0, config_.max_adc)));
        }
    }
}

}  // namespace anello::camera
