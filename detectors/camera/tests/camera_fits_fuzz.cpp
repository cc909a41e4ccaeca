// SPDX-License-Identifier: Apache-2.0
// Built from: detectors/camera/calibrate/fits_images.cpp
// Coefficient files: any bytes give images or words about what is wrong, and bounded memory.
#include <array>
#include <cstdlib>
#include <stdexcept>

#include "camera/calibrate/fits_images.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static constexpr std::array names{"BASELINE_MEAN", "SCALE"};
    try {
        const auto images = anello::camera::parse_fits_images(std::as_bytes(std::span(data, size)), names);
        for (const auto& [name, image] : images) {
            std::size_t n = 1;
            for (const std::size_t length : image.shape) n *= length;
            if (image.values.size() > size || (image.shape.empty() ? 0 : n) != image.values.size()) std::abort();
        }
    } catch (const std::runtime_error&) {
        return 0;
    }
    return 0;
}
