// SPDX-License-Identifier: Apache-2.0
#include "detector/camera_geometry.hpp"

#include "arrays.hpp"
#include "module.hpp"

namespace anello::bindings {
namespace {

/// f32[n_boards * pixels_per_board, 2]
nb::object camera_positions(std::uint32_t n_boards, std::uint32_t pixels_per_board) {
    const detector::CameraGeometry geometry = detector::make_camera_geometry(n_boards, pixels_per_board);
    std::vector<float> flat;
    flat.reserve(2 * std::size_t{geometry.n_pixels()});
    for (std::uint32_t pixel = 0; pixel < geometry.n_pixels(); ++pixel) {
        flat.push_back(geometry.x_mm[pixel]);
        flat.push_back(geometry.y_mm[pixel]);
    }
    return to_numpy(std::move(flat), std::size_t{geometry.n_pixels()}, std::size_t{2});
}

}  // namespace

void bind_camera_geometry(nb::module_& module) {
    module.def("camera_positions", &camera_positions, nb::arg("n_boards"), nb::arg("pixels_per_board"));
}

}  // namespace anello::bindings
