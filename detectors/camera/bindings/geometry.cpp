// SPDX-License-Identifier: Apache-2.0
#include "camera/geometry.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "camera/bindings/parts.hpp"

namespace anello::camera {
namespace {

namespace nb = nanobind;

/// f32[n_boards * pixels_per_board, 2]
nb::object positions(std::uint32_t n_boards, std::uint32_t pixels_per_board, const std::string& pixels_file) {
    const CameraGeometry geometry = camera_geometry(pixels_file, n_boards, pixels_per_board);
    std::vector<float> flat;
    flat.reserve(2 * std::size_t{geometry.n_pixels()});
    for (std::uint32_t pixel = 0; pixel < geometry.n_pixels(); ++pixel) {
        flat.push_back(geometry.x_mm[pixel]);
        flat.push_back(geometry.y_mm[pixel]);
    }
    return bindings::to_numpy(std::move(flat), std::size_t{geometry.n_pixels()}, std::size_t{2});
}

}  // namespace

void bind_geometry(nb::module_& module) {
    module.def("positions", &positions, nb::arg("n_boards"), nb::arg("pixels_per_board"), nb::arg("pixels_file") = "");
}

}  // namespace anello::camera
