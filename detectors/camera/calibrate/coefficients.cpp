// SPDX-License-Identifier: Apache-2.0
#include "camera/calibrate/coefficients.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "camera/calibrate/fits_images.hpp"
#include "core/errors.hpp"

namespace anello::camera {
namespace {

constexpr float largest_baseline = 4095.9F;  // samples have 12 bits; in sixteenths they fill 16
constexpr float largest_spike = 4095.9F;
constexpr float largest_factor = 1000;

std::string words(const std::vector<std::size_t>& shape) {
    std::string text;
    for (const std::size_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
    return text.empty() ? "0" : text;
}

/// One of the files, with the name of its key for error messages.
struct File {
    const char* field;
    const std::string& path;

    [[noreturn]] void refuse(const std::string& why) const {
        throw ConfigError(field, "must be a FITS file of this camera's coefficients", path + ": " + why,
                          "anello calibrate makes one from a run's pedestal events.");
    }
    FitsImages read(std::span<const char* const> names) const {
        try {
            return read_fits_images(path, names);
        } catch (const std::runtime_error& error) {
            refuse(error.what());
        }
    }
    /// Refuses values outside of [-most, most], or of [0, most].
    std::int32_t parts(const char* name, float value, float least, float most) const {
        if (!(value >= least && value <= most))  // NaN is refused
            refuse(fmt::format("{} has a value of {}, and {} to {} counts are possible", name, value, least, most));
        return static_cast<std::int32_t>(std::lrint(value * parts_per_count));
    }
};

/// Calls use(channel, index) for each channel, with the index of its gain and pixel in the file's arrays.
template <typename Use>
void for_each_channel(const CalibratedShape& shape, std::span<const std::uint32_t> pixel_ids, Use use) {
    std::size_t channel = 0;
    for (std::size_t board = 0; board < shape.n_boards; ++board)
        for (std::size_t gain = 0; gain < shape.n_gains; ++gain)
            for (std::size_t pixel = 0; pixel < shape.pixels_per_board; ++pixel)
                use(channel++, gain * shape.n_pixels() + pixel_ids[board * shape.pixels_per_board + pixel]);
}

void take_baseline(const File& file, const FitsImages& images, const CalibratedShape& shape,
                   std::span<const std::uint32_t> ids, CalibrationCoefficients& made) {
    const auto found = images.find("BASELINE_MEAN");
    if (found == images.end()) file.refuse("it has no image baseline_mean");
    const FitsImage& image = found->second;
    const bool has_cells = image.has_shape({shape.n_gains, shape.n_pixels(), drs4_cells});
    if (!has_cells && !image.has_shape({shape.n_gains, shape.n_pixels(), 1}))
        file.refuse(
            fmt::format("baseline_mean has the shape {}, and this camera has {} gains, {} pixels and {} cells "
                        "of a pixel, or 1 for all of them",
                        words(image.shape), shape.n_gains, shape.n_pixels(), drs4_cells));
    made.n_cells = has_cells ? drs4_cells : 1;
    made.baseline.resize(shape.n_channels() * made.n_cells);
    for_each_channel(shape, ids, [&](std::size_t channel, std::size_t in_file) {
        for (std::size_t cell = 0; cell < made.n_cells; ++cell)
            made.baseline[channel * made.n_cells + cell] = static_cast<std::uint16_t>(
                file.parts("baseline_mean", image.values[in_file * made.n_cells + cell], 0, largest_baseline));
    });
}

void take_spikes(const File& file, const FitsImages& images, const CalibratedShape& shape,
                 std::span<const std::uint32_t> ids, CalibrationCoefficients& made) {
    const auto found = images.find("SPIKE_HEIGHT");
    if (found == images.end() || made.n_cells != drs4_cells) return;
    const FitsImage& image = found->second;
    if (!image.has_shape({shape.n_gains, shape.n_pixels(), spike_samples}))
        file.refuse(fmt::format("spike_height has the shape {}, which must be {} x {} x {}", words(image.shape),
                                shape.n_gains, shape.n_pixels(), spike_samples));
    made.spike.resize(shape.n_channels());
    for_each_channel(shape, ids, [&](std::size_t channel, std::size_t in_file) {
        for (std::size_t i = 0; i < spike_samples; ++i)
            made.spike[channel][i] =
                file.parts("spike_height", image.values[in_file * spike_samples + i], -largest_spike, largest_spike);
    });
}

void take_flatfield(const File& file, const FitsImages& images, const CalibratedShape& shape,
                    std::span<const std::uint32_t> ids, CalibrationCoefficients& made) {
    const auto found = images.find("FLATFIELD");
    if (found == images.end()) return;
    const FitsImage& image = found->second;
    if (!image.has_shape({shape.n_gains, shape.n_pixels()}))
        file.refuse(fmt::format("flatfield has the shape {}, which must be {} x {}", words(image.shape), shape.n_gains,
                                shape.n_pixels()));
    made.flatfield.resize(shape.n_channels());
    for_each_channel(shape, ids, [&](std::size_t channel, std::size_t in_file) {
        const float factor = image.values[in_file];
        if (!(factor > 0 && factor <= largest_factor))  // NaN is refused
            file.refuse(
                fmt::format("flatfield has a factor of {}, and they are above 0, to {}", factor, largest_factor));
        made.flatfield[channel] = factor;
    });
}

TimeLapseLaw checked_law(const File& file, const TimeLapseLaw& law) {
    const bool is_sane = std::abs(law.scale_counts) <= 4096 && law.exponent >= 0 && law.exponent <= 4 &&
                         law.t0_ms > 0 && law.t0_ms <= TimeLapseTable::longest_t0_ms;
    if (!is_sane)
        file.refuse(fmt::format("a time lapse of SCALE {}, EXPONENT {}, T0 {} ms is not possible", law.scale_counts,
                                law.exponent, law.t0_ms));
    return law;
}

/// Reads the time lapse; false if the file has none.
bool take_laws(const File& file, const FitsImages& images, const CalibratedShape& shape,
               std::span<const std::uint32_t> ids, CalibrationCoefficients& made) {
    if (!images.contains("PIXEL_BATCH")) return false;
    const FitsImage& batch = images.at("PIXEL_BATCH");
    for (const char* name : {"SCALE", "EXPONENT", "T0"})
        if (!images.contains(name)) file.refuse(fmt::format("it has PIXEL_BATCH, and no image {}", name));
    const FitsImage &scale = images.at("SCALE"), &exponent = images.at("EXPONENT"), &t0 = images.at("T0");
    const std::size_t n = scale.values.size();
    if (n == 0 || n > 256 || exponent.values.size() != n || t0.values.size() != n)
        file.refuse("SCALE, EXPONENT and T0 must have 1 to 256 values, and as many each");
    if (!batch.has_shape({shape.n_gains, shape.n_pixels()}))
        file.refuse(fmt::format("PIXEL_BATCH has the shape {}, which must be {} x {}", words(batch.shape),
                                shape.n_gains, shape.n_pixels()));
    made.laws.clear();
    for (std::size_t i = 0; i < n; ++i)
        made.laws.push_back(checked_law(file, {scale.values[i], exponent.values[i], t0.values[i]}));
    for_each_channel(shape, ids, [&](std::size_t channel, std::size_t in_file) {
        const float which = batch.values[in_file];
        if (!(which >= 0 && which < static_cast<float>(n)))
            file.refuse(fmt::format("PIXEL_BATCH names batch {} of {}", which, n));
        made.law_of_channel[channel] = static_cast<std::uint8_t>(which);
    });
    return true;
}

void check_ids(const CalibratedShape& shape, std::span<const std::uint32_t> ids) {
    std::vector<bool> is_there(shape.n_pixels());
    for (const std::uint32_t id : ids) {
        if (id >= is_there.size() || is_there[id])
            throw ConfigError("camera.pixels_file", "must number the pixels from 0 on, each once, for camera_calibrate",
                              fmt::format("pixel {}", id), "Its column `pixel` is the place in the coefficients.");
        is_there[id] = true;
    }
}

}  // namespace

CalibrationCoefficients read_coefficients(const std::string& file, const std::string& time_lapse_file,
                                          const CalibratedShape& shape, std::span<const std::uint32_t> pixel_ids) {
    check_ids(shape, pixel_ids);
    constexpr std::array names{"BASELINE_MEAN", "SPIKE_HEIGHT", "FLATFIELD"};
    constexpr std::array names_of_laws{"PIXEL_BATCH", "SCALE", "EXPONENT", "T0"};
    const File pedestals{"camera_calibrate.file", file};
    CalibrationCoefficients made;
    {
        const FitsImages images = pedestals.read(names);
        take_baseline(pedestals, images, shape, pixel_ids, made);
        take_spikes(pedestals, images, shape, pixel_ids, made);
        take_flatfield(pedestals, images, shape, pixel_ids, made);
    }
    made.laws.emplace_back();
    made.law_of_channel.resize(shape.n_channels());
    const bool is_apart = !time_lapse_file.empty();
    const File of_laws{is_apart ? "camera_calibrate.time_lapse_file" : "camera_calibrate.file",
                       is_apart ? time_lapse_file : file};
    const bool found = take_laws(of_laws, of_laws.read(names_of_laws), shape, pixel_ids, made);
    if (is_apart && !found) of_laws.refuse("it has no image PIXEL_BATCH");
    return made;
}

}  // namespace anello::camera
