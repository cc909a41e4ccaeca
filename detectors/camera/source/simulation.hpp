// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/geometry.hpp"
#include "source/random.hpp"

namespace anello::camera {

/// A camera's waveforms: n_samples of 1 ns for each gain and pixel of a board.
struct WaveformShape {
    std::uint32_t n_boards = 265, n_pixels = 7, n_gains = 2, n_samples = 60;
    constexpr std::size_t payload_bytes() const noexcept {
        return std::size_t{n_gains} * n_pixels * n_samples * sizeof(std::uint16_t);
    }
};

/// The model is explained in docs/reference/camera-simulation.md.
struct CameraSimulationConfig {
    std::string pixels_file;                         ///< a file for camera_geometry(); empty: a made-up camera
    double signal_share = 0.3;                       ///< share of events with a shower; the others are only noise
    double pedestal_share = 0, flatfield_share = 0;  ///< shares of these events, evenly among the others
    double flatfield_pe = 60;                        ///< mean photo-electrons per pixel of a flat field
    double min_pe = 50, max_pe = 5000;
    double min_length_mm = 40, max_length_mm = 120;  ///< standard deviation along the ellipse's long axis
    double min_width_mm = 20, max_width_mm = 40;     ///< standard deviation across the long axis
    double max_time_gradient_ns_per_mm = 0.03;
    double pe_time_sd_ns = 0.7;
    double pe_charge_sd = 0.4;                  ///< spread of a photo-electron's charge, in mean charges
    double pulse_rise_ns = 1.2;                 ///< from half height to the top
    double pulse_fall_ns = 1.8;                 ///< from the top to half height
    double pedestal_adc = 250;                  ///< in both gains
    double noise_adc[2] = {6, 2};               ///< standard deviation, by gain
    double pe_height_adc[2] = {20, 20.0 / 13};  ///< height of a photo-electron's pulse, by gain
    double max_adc = 4095;                      ///< largest value of the converter, which clips
    void validate() const;                      ///< Throws ConfigError.
};

/// The truth of an event. Without a shower, all is 0 except the tag and a flat field's photo-electrons and time.
struct CameraTruth {
    float n_pe = 0;            ///< photo-electrons on pixels
    float x_mm = 0, y_mm = 0;  ///< centre of the ellipse
    float length_mm = 0, width_mm = 0;
    float axis_x = 0, axis_y = 0;       ///< direction of its long axis
    float time_ns = 0;                  ///< arrival of light at the centre, after the first sample
    float time_gradient_ns_per_mm = 0;  ///< along the axis
    std::uint8_t trigger_tag = 0;       ///< bits of wire::camera::TriggerTag
    bool has_shower() const noexcept { return length_mm > 0; }
};

/// Returns the trigger tag of this event. Calibration events come at even distances, and pedestals at even distances
/// among them.
std::uint8_t trigger_tag_of(const CameraSimulationConfig& config, std::uint32_t event) noexcept;

/// Simulates images of showers and the resulting waveforms. Only seed and number determine an event, and a board's
/// noise depends also on the board's number: several processes can simulate one camera.
class CameraSimulation {
  public:
    /// Throws ConfigError.
    CameraSimulation(const CameraSimulationConfig& config, const WaveformShape& shape, std::uint64_t seed);

    /// Begins an event: from then on, waveforms belong to this event.
    CameraTruth begin_event(std::uint32_t event);
    /// payload: shape.payload_bytes() bytes, u16 samples [gain][pixel][sample].
    void write_waveforms(std::uint32_t board, std::span<std::byte> payload) const;
    const CameraGeometry& geometry() const noexcept { return geometry_; }

  private:
    static constexpr std::uint32_t no_pixel = ~0U;

    void make_grid();
    std::uint32_t pixel_at(double x_mm, double y_mm) const noexcept;
    CameraTruth draw_ellipse(source::Random& random) const;
    void draw_shower(source::Random& random, CameraTruth& truth);
    void draw_flat_field(source::Random& random, CameraTruth& truth);
    void add_photo_electron(std::uint32_t pixel, double time_ns, double charge) noexcept;

    CameraSimulationConfig config_;
    WaveformShape shape_;
    std::uint64_t seed_;
    CameraGeometry geometry_;
    double radius_mm_ = 0;       // radius of the camera
    std::uint32_t n_cells_ = 0;  // cells of the grid along x, and along y
    std::vector<std::uint32_t> cell_offset_, cell_pixel_;
    std::uint32_t event_ = 0;
    std::vector<double> light_;  // [pixel][sample], in heights of one photo-electron
};

}  // namespace anello::camera
