// SPDX-License-Identifier: Apache-2.0
#include "camera/geometry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include "core/errors.hpp"

namespace anello::camera {
namespace {

constexpr std::uint32_t flower_pixels = 7;
constexpr float row_pitch = 0.8660254F;  // sqrt(3) / 2, in pitches

/// A site of the hexagonal lattice: q steps along x, r steps along the direction 60 degrees from it.
struct Site {
    std::int32_t q = 0, r = 0;
    bool operator==(const Site&) const = default;
    auto operator<=>(const Site&) const = default;
};

Site operator+(Site a, Site b) noexcept {
    return {a.q + b.q, a.r + b.r};
}
float x_of(Site site) noexcept {
    return static_cast<float>(2 * site.q + site.r) / 2;
}
float y_of(Site site) noexcept {
    return static_cast<float>(site.r) * row_pitch;
}
std::int32_t distance_squared(Site site) noexcept {
    return site.q * site.q + site.q * site.r + site.r * site.r;
}
/// The hexagon around the centre that the site lies on.
std::int32_t ring_of(Site site) noexcept {
    return std::max({std::abs(site.q), std::abs(site.r), std::abs(site.q + site.r)});
}
/// From the x axis, counter-clockwise, 0 to 2 pi.
float angle_of(Site site) noexcept {
    const float angle = std::atan2(y_of(site), x_of(site));
    return angle < 0 ? angle + 6.2831853F : angle;
}

/// The six directions, by angle.
constexpr std::array<Site, 6> steps{{{1, 0}, {0, 1}, {-1, 1}, {-1, 0}, {0, -1}, {1, -1}}};

/// The n sites with the least measure, ties by angle.
std::vector<Site> first_sites(std::size_t n, std::int32_t (*measure)(Site) noexcept) {
    // A hexagon of this many rings holds a circle with more than n sites.
    const auto n_rings = static_cast<std::int32_t>(std::sqrt(static_cast<double>(n) / 2.5)) + 2;
    std::vector<Site> sites;
    for (std::int32_t q = -n_rings; q <= n_rings; ++q)
        for (std::int32_t r = -n_rings; r <= n_rings; ++r)
            if (ring_of({q, r}) <= n_rings) sites.push_back({q, r});
    std::sort(sites.begin(), sites.end(), [measure](Site a, Site b) {
        return measure(a) != measure(b) ? measure(a) < measure(b) : angle_of(a) < angle_of(b);
    });
    sites.resize(n);
    return sites;
}

std::vector<Site> flowers(std::uint32_t n_boards) {
    std::vector<Site> pixels;
    pixels.reserve(std::size_t{n_boards} * flower_pixels);
    for (const Site board : first_sites(n_boards, distance_squared)) {
        // The lattice of flowers is spanned by (2, 1) and the same turned by 60 degrees.
        const Site centre{2 * board.q - board.r, board.q + 3 * board.r};
        pixels.push_back(centre);
        for (const Site step : steps) pixels.push_back(centre + step);
    }
    return pixels;
}

void find_neighbours(const std::vector<Site>& pixels, CameraGeometry& geometry) {
    std::vector<std::pair<Site, std::uint32_t>> pixel_at;
    for (const Site site : pixels) pixel_at.emplace_back(site, static_cast<std::uint32_t>(pixel_at.size()));
    std::sort(pixel_at.begin(), pixel_at.end());
    geometry.neighbour_offset.push_back(0);
    for (const Site site : pixels) {
        for (const Site step : steps) {
            const Site beside = site + step;
            const auto found = std::lower_bound(pixel_at.begin(), pixel_at.end(), std::pair(beside, std::uint32_t{0}));
            if (found != pixel_at.end() && found->first == beside) geometry.neighbour.push_back(found->second);
        }
        geometry.neighbour_offset.push_back(static_cast<std::uint32_t>(geometry.neighbour.size()));
    }
}

void check(const char* field, std::uint32_t value, std::uint32_t most) {
    if (value == 0 || value > most)
        throw ConfigError(field, "must be 1 to " + std::to_string(most), std::to_string(value),
                          "265 boards of 7 pixels are a camera of LST or NectarCAM.");
}

}  // namespace

CameraGeometry make_camera_geometry(std::uint32_t n_boards, std::uint32_t pixels_per_board) {
    check("camera.boards", n_boards, max_camera_geometry_boards);
    check("camera.pixels_per_board", pixels_per_board, max_camera_geometry_pixels_per_board);
    const std::vector<Site> pixels = pixels_per_board == flower_pixels
                                         ? flowers(n_boards)
                                         : first_sites(std::size_t{n_boards} * pixels_per_board, ring_of);
    CameraGeometry geometry{n_boards, pixels_per_board, {}, {}, {}, {}};
    for (const Site site : pixels) {
        geometry.x_mm.push_back(x_of(site) * camera_pixel_pitch_mm);
        geometry.y_mm.push_back(y_of(site) * camera_pixel_pitch_mm);
    }
    find_neighbours(pixels, geometry);
    return geometry;
}

}  // namespace anello::camera
