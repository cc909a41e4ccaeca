// SPDX-License-Identifier: Apache-2.0
#include "camera/geometry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>
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
/// Number of the hexagon around the centre that the site lies on.
std::int32_t ring_of(Site site) noexcept {
    return std::max({std::abs(site.q), std::abs(site.r), std::abs(site.q + site.r)});
}
/// Angle from the x axis, counter-clockwise, 0 to 2 pi.
float angle_of(Site site) noexcept {
    const float angle = std::atan2(y_of(site), x_of(site));
    return angle < 0 ? angle + 6.2831853F : angle;
}

/// The six directions, by angle.
constexpr std::array<Site, 6> steps{{{1, 0}, {0, 1}, {-1, 1}, {-1, 0}, {0, -1}, {1, -1}}};

/// Returns the n sites with the smallest measure; equal ones are ordered by angle.
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

// --- From a file

constexpr std::uint32_t max_pixels_of_file = 16'384;
constexpr float largest_m = 100.0F;  // no camera has a pixel that far from its centre
constexpr double reach = 1.4;        // in distances of the closest two pixels: between 1 and sqrt(3)

[[noreturn]] void refuse(const std::string& path, std::size_t line, const std::string& why) {
    throw ConfigError("camera.pixels_file", "must be a table of this camera's pixels",
                      path + ", line " + std::to_string(line) + ": " + why,
                      "Each pixel is a line pixel,module,channel,x_m,y_m.");
}

struct Pixel {
    std::uint32_t id, module, channel;
    float x_m, y_m;
};

/// Reads a line; false if it is not exactly five values with commas.
bool read_pixel(const std::string& line, Pixel& pixel) {
    std::istringstream text(line);
    char comma[4]{};
    std::int64_t id = -1, module = -1, channel = -1;
    if (!(text >> id >> comma[0] >> module >> comma[1] >> channel >> comma[2] >> pixel.x_m >> comma[3] >> pixel.y_m))
        return false;
    const bool has_more = (text >> std::ws).peek() != std::istringstream::traits_type::eof();
    const bool has_commas = std::all_of(std::begin(comma), std::end(comma), [](char c) { return c == ','; });
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    if (has_more || !has_commas || id < 0 || module < 0 || channel < 0 || id > most || module > most || channel > most)
        return false;
    pixel.id = static_cast<std::uint32_t>(id);
    pixel.module = static_cast<std::uint32_t>(module);
    pixel.channel = static_cast<std::uint32_t>(channel);
    return std::abs(pixel.x_m) <= largest_m && std::abs(pixel.y_m) <= largest_m;
}

void read_places(const std::string& path, CameraGeometry& geometry) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    if (!file) refuse(path, 1, "it cannot be read");
    const std::uint32_t n_pixels = geometry.n_boards * geometry.pixels_per_board;
    std::vector<bool> is_there(n_pixels);
    std::size_t n_lines = 1;
    while (std::getline(file, line)) {
        ++n_lines;
        Pixel read{};
        if (!read_pixel(line, read)) refuse(path, n_lines, "it is no pixel");
        if (read.module >= geometry.n_boards || read.channel >= geometry.pixels_per_board)
            refuse(path, n_lines, "the camera has no such module and channel");
        const std::uint32_t pixel = read.module * geometry.pixels_per_board + read.channel;
        if (is_there[pixel]) refuse(path, n_lines, "the same module and channel stand in a line before");
        is_there[pixel] = true;
        geometry.pixel_id[pixel] = read.id;
        geometry.x_mm[pixel] = 1000 * read.x_m;
        geometry.y_mm[pixel] = 1000 * read.y_m;
    }
    if (n_lines != n_pixels + 1)
        refuse(path, n_lines, "the file ends, and the camera has " + std::to_string(n_pixels) + " pixels");
}

double distance_squared(const CameraGeometry& camera, std::uint32_t a, std::uint32_t b) noexcept {
    const double x = camera.x_mm[a] - camera.x_mm[b], y = camera.y_mm[a] - camera.y_mm[b];
    return x * x + y * y;
}

void find_neighbours(const std::string& path, CameraGeometry& camera) {
    const std::uint32_t n = camera.n_pixels();
    double closest = std::numeric_limits<double>::max();
    for (std::uint32_t a = 1; a < n; ++a)
        for (std::uint32_t b = 0; b < a; ++b) closest = std::min(closest, distance_squared(camera, a, b));
    if (closest == 0) refuse(path, n + 1, "two pixels stand at the same place");
    camera.neighbour_offset.push_back(0);
    for (std::uint32_t a = 0; a < n; ++a) {
        const auto first = static_cast<std::ptrdiff_t>(camera.neighbour.size());
        for (std::uint32_t b = 0; b < n; ++b)
            if (b != a && distance_squared(camera, a, b) < reach * reach * closest) camera.neighbour.push_back(b);
        const auto angle = [&](std::uint32_t b) {
            return std::atan2(camera.y_mm[b] - camera.y_mm[a], camera.x_mm[b] - camera.x_mm[a]);
        };
        std::sort(camera.neighbour.begin() + first, camera.neighbour.end(),
                  [&](std::uint32_t b, std::uint32_t c) { return angle(b) < angle(c); });
        camera.neighbour_offset.push_back(static_cast<std::uint32_t>(camera.neighbour.size()));
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
    CameraGeometry geometry{n_boards, pixels_per_board, {}, {}, {}, {}, {}};
    geometry.pixel_id.resize(pixels.size());
    std::iota(geometry.pixel_id.begin(), geometry.pixel_id.end(), 0U);
    for (const Site site : pixels) {
        geometry.x_mm.push_back(x_of(site) * camera_pixel_pitch_mm);
        geometry.y_mm.push_back(y_of(site) * camera_pixel_pitch_mm);
    }
    find_neighbours(pixels, geometry);
    return geometry;
}

CameraGeometry camera_geometry(const std::string& path, std::uint32_t n_boards, std::uint32_t pixels_per_board) {
    if (path.empty()) return make_camera_geometry(n_boards, pixels_per_board);
    check("camera.boards", n_boards, max_camera_geometry_boards);
    check("camera.pixels_per_board", pixels_per_board, max_camera_geometry_pixels_per_board);
    const std::uint32_t n_pixels = n_boards * pixels_per_board;
    if (n_pixels > max_pixels_of_file)
        throw ConfigError("camera.boards", "must make at most 16384 pixels with camera.pixels_file",
                          std::to_string(n_boards), "A real camera has some thousands.");
    CameraGeometry geometry{n_boards,
                            pixels_per_board,
                            std::vector<float>(n_pixels),
                            std::vector<float>(n_pixels),
                            {},
                            {},
                            std::vector<std::uint32_t>(n_pixels)};
    read_places(path, geometry);
    find_neighbours(path, geometry);
    return geometry;
}

}  // namespace anello::camera
