// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace anello::camera {

/// An array of numbers from a FITS file; the values of the last axis are contiguous.
struct FitsImage {
    std::vector<std::size_t> shape;
    std::vector<float> values;

    bool has_shape(std::initializer_list<std::size_t> wanted) const {
        return shape == std::vector<std::size_t>(wanted);
    }
};

using FitsImages = std::map<std::string, FitsImage>;  ///< by EXTNAME in capitals

/// The images of a FITS file (Pence et al., A&A 524 (2010) A42) that have one of these names: BITPIX 8, 16, 32, -32 or
/// -64 with BSCALE and BZERO. What else is in the file is skipped. Takes at most a small multiple of bytes' memory,
/// whatever the header says. Throws std::runtime_error that says what is wrong.
FitsImages parse_fits_images(std::span<const std::byte> bytes, std::span<const char* const> names);
/// The same of a file. Throws std::runtime_error.
FitsImages read_fits_images(const std::string& path, std::span<const char* const> names);

}  // namespace anello::camera
