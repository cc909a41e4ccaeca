// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/bytes.hpp"

namespace anello::camera {

/// Shape of the waveforms in a slot of event memory: the fields of its header that the stages behind the builder read
/// for every board. The header was parsed before the fragment was placed.
struct CameraWaveforms {
    std::uint16_t n_samples;
    std::uint8_t n_pixels;
    std::uint8_t n_gains;
    std::uint16_t payload_bytes;
};

inline CameraWaveforms waveforms_in(const std::byte* slot) noexcept {
    return {wire::load_le<std::uint16_t>(slot + 32), std::to_integer<std::uint8_t>(slot[34]),
            std::to_integer<std::uint8_t>(slot[35]), wire::load_le<std::uint16_t>(slot + 38)};
}

}  // namespace anello::camera
