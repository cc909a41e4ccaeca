// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace anello::camera {

/// Flat-to-flat size of a pixel's light concentrator, which is the distance of neighbours: 50 mm, as commonly stated
/// for LST and NectarCAM (an LST pixel sees 0.1 degrees at a focal length of 28 m, which is 49 mm). Not from a drawing.
inline constexpr float camera_pixel_pitch_mm = 50.0F;
inline constexpr std::uint32_t max_camera_geometry_boards = 1024;
inline constexpr std::uint32_t max_camera_geometry_pixels_per_board = 255;

/// Positions of a camera's pixels, and which pixels touch; pixel = board * pixels_per_board + pixel on the board.
struct CameraGeometry {
    std::uint32_t n_boards = 0;
    std::uint32_t pixels_per_board = 0;
    std::vector<float> x_mm, y_mm;
    /// Neighbours of pixel p, by angle: neighbour[neighbour_offset[p]] to before neighbour[neighbour_offset[p + 1]].
    std::vector<std::uint32_t> neighbour_offset, neighbour;
    std::vector<std::uint32_t> pixel_id;  ///< numbers in the camera's table; without a table 0, 1, 2, ...

    std::uint32_t n_pixels() const noexcept { return static_cast<std::uint32_t>(x_mm.size()); }
    std::span<const std::uint32_t> neighbours_of(std::uint32_t pixel) const noexcept {
        return {neighbour.data() + neighbour_offset[pixel], neighbour.data() + neighbour_offset[pixel + 1]};
    }
};

/// Boards of 7 pixels are flowers (one pixel and the six around it), which tile the plane: the camera is the n_boards
/// flowers nearest to the centre. 265 of them are a whole number of shells, so that camera has six-fold symmetry.
/// Boards of any other size are consecutive pieces of a hexagonal spiral of pixels.
/// Throws ConfigError (1 to 1024 boards of 1 to 255 pixels).
CameraGeometry make_camera_geometry(std::uint32_t n_boards, std::uint32_t pixels_per_board = 7);

/// Geometry of a real camera from a CSV file: a line of names, then a line pixel,module,channel,x_m,y_m for each pixel.
/// Module and channel are board and pixel on the board; two pixels touch if they are closer than 1.4 times the distance
/// of the closest two. Empty path: the made-up camera above. Throws ConfigError that names the line.
CameraGeometry camera_geometry(const std::string& path, std::uint32_t n_boards, std::uint32_t pixels_per_board);

}  // namespace anello::camera
