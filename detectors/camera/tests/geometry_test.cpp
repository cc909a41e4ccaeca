// SPDX-License-Identifier: Apache-2.0
#include "camera/geometry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <set>

#include "core/errors.hpp"

namespace anello::camera::geometry_test {
namespace {

double distance_mm(const CameraGeometry& camera, std::uint32_t a, std::uint32_t b) {
    return std::hypot(static_cast<double>(camera.x_mm[a]) - static_cast<double>(camera.x_mm[b]),
                      static_cast<double>(camera.y_mm[a]) - static_cast<double>(camera.y_mm[b]));
}

using Places = std::set<std::pair<long, long>>;

Places places_turned(const CameraGeometry& camera, double angle) {
    Places places;
    for (std::uint32_t p = 0; p < camera.n_pixels(); ++p) {
        const double x = static_cast<double>(camera.x_mm[p]), y = static_cast<double>(camera.y_mm[p]);
        places.insert({std::lround(x * std::cos(angle) - y * std::sin(angle)),
                       std::lround(x * std::sin(angle) + y * std::cos(angle))});
    }
    return places;
}

struct Camera {
    std::uint32_t n_boards, pixels_per_board;
};

class CameraGeometries : public testing::TestWithParam<Camera> {
  protected:
    CameraGeometry camera = make_camera_geometry(GetParam().n_boards, GetParam().pixels_per_board);
};

TEST_P(CameraGeometries, NoTwoPixelsStandAtOnePlace) {
    EXPECT_EQ(camera.n_pixels(), GetParam().n_boards * GetParam().pixels_per_board);
    EXPECT_EQ(places_turned(camera, 0.0).size(), camera.n_pixels());
}

TEST_P(CameraGeometries, NeighboursAreMutualAndOnePitchApart) {
    for (std::uint32_t p = 0; p < camera.n_pixels(); ++p) {
        const auto neighbours = camera.neighbours_of(p);
        ASSERT_LE(neighbours.size(), 6U);
        EXPECT_EQ(std::set(neighbours.begin(), neighbours.end()).size(), neighbours.size());
        for (const std::uint32_t n : neighbours) {
            ASSERT_LT(n, camera.n_pixels());
            EXPECT_NEAR(distance_mm(camera, p, n), static_cast<double>(camera_pixel_pitch_mm), 1e-3);
            EXPECT_EQ(std::ranges::count(camera.neighbours_of(n), p), 1) << p << " and " << n;
        }
    }
    EXPECT_EQ(camera.neighbour.size(), camera.neighbour_offset.back());
}

/// By distance alone, without the lattice: nothing that touches is left out, nothing is closer than a neighbour.
TEST_P(CameraGeometries, EveryPixelThatTouchesIsANeighbour) {
    for (std::uint32_t p = 0; p < camera.n_pixels(); p += 7)
        for (std::uint32_t other = 0; other < camera.n_pixels(); ++other) {
            if (other == p) continue;
            const double distance = distance_mm(camera, p, other);
            ASSERT_GT(distance, 49.9);
            EXPECT_EQ(std::ranges::count(camera.neighbours_of(p), other), distance < 51.0 ? 1 : 0);
        }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CameraGeometries,
                         testing::Values(Camera{265, 7}, Camera{1, 7}, Camera{12, 7}, Camera{1024, 7}, Camera{1, 1},
                                         Camera{40, 16}, Camera{300, 3}, Camera{3, 255}));

TEST(CameraGeometry, TheCameraOf265BoardsIsRoundAndSixFold) {
    const CameraGeometry camera = make_camera_geometry(265);
    EXPECT_EQ(places_turned(camera, 0.0), places_turned(camera, std::numbers::pi / 3));
    double edge_mm = 0.0;
    for (std::uint32_t p = 0; p < camera.n_pixels(); ++p)
        edge_mm =
            std::max(edge_mm, std::hypot(static_cast<double>(camera.x_mm[p]), static_cast<double>(camera.y_mm[p])));
    // 1855 hexagons of 50 mm cover a disc of 1.13 m radius.
    for (std::uint32_t p = 0; p < camera.n_pixels(); ++p)
        if (std::hypot(camera.x_mm[p], camera.y_mm[p]) < 1000.0F) {
            EXPECT_EQ(camera.neighbours_of(p).size(), 6U);
        }
    EXPECT_GT(edge_mm, 1100.0);
    EXPECT_LT(edge_mm, 1300.0);
}

TEST(CameraGeometry, ABoardIsAPixelAndTheSixAroundIt) {
    const CameraGeometry camera = make_camera_geometry(265);
    for (std::uint32_t board = 0; board < 265; ++board) {
        const auto neighbours = camera.neighbours_of(7 * board);
        const std::set<std::uint32_t> around(neighbours.begin(), neighbours.end());
        EXPECT_EQ(around,
                  (std::set{7 * board + 1, 7 * board + 2, 7 * board + 3, 7 * board + 4, 7 * board + 5, 7 * board + 6}));
    }
}

TEST(CameraGeometry, ASpiralGoesRoundItsRings) {
    const CameraGeometry camera = make_camera_geometry(37, 1);  // three whole rings
    EXPECT_EQ(places_turned(camera, 0.0), places_turned(camera, std::numbers::pi / 3));
    for (std::uint32_t p = 1; p < 37; ++p)  // the step after a whole ring goes outwards and may be longer
        if (p != 7 && p != 19) {
            EXPECT_LT(distance_mm(camera, p - 1, p), 51.0);
        }
}

TEST(CameraGeometry, RefusesWhatNoCameraHas) {
    EXPECT_THROW(make_camera_geometry(0), ConfigError);
    EXPECT_THROW(make_camera_geometry(1025), ConfigError);
    EXPECT_THROW(make_camera_geometry(1, 0), ConfigError);
    EXPECT_THROW(make_camera_geometry(1, 256), ConfigError);
}

class PixelsFile : public testing::Test {
  protected:
    ~PixelsFile() override { std::filesystem::remove(path); }
    CameraGeometry read(const std::string& lines, std::uint32_t n_boards = 2, std::uint32_t pixels_per_board = 2) {
        std::ofstream(path) << "pixel,module,channel,x_m,y_m\n" << lines;
        return camera_geometry(path, n_boards, pixels_per_board);
    }
    std::string refusal(const std::string& lines) {
        try {
            read(lines);
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "it was taken";
    }
    const std::string path = std::filesystem::temp_directory_path() / ("anello_pixels_" + std::to_string(getpid()));
};

/// Numbered otherwise than by module, in a row with a gap.
TEST_F(PixelsFile, SaysWhereEachChannelStands) {
    const CameraGeometry camera = read("7,1,1,-0.05,0\n2,0,0,0.05,0.001\n9,0,1,0,0\n0,1,0,0.15,0\n");
    EXPECT_EQ(camera.x_mm, (std::vector<float>{50, 0, 150, -50}));
    EXPECT_EQ(camera.y_mm, (std::vector<float>{1, 0, 0, 0}));
    EXPECT_EQ(std::vector(camera.neighbours_of(1).begin(), camera.neighbours_of(1).end()),
              (std::vector<std::uint32_t>{0, 3}))
        << "by angle";
    EXPECT_TRUE(camera.neighbours_of(2).empty());
}

TEST_F(PixelsFile, IsRefusedWithItsLine) {
    const std::string good = "0,0,0,0,0\n1,0,1,0.05,0\n2,1,0,0.1,0\n";
    EXPECT_THAT(refusal(good), testing::HasSubstr("line 4: the file ends"));
    EXPECT_THAT(refusal(good + "3,1,1,0.1,0\n"), testing::HasSubstr("two pixels stand at the same place"));
    EXPECT_THAT(refusal(good + "3,1,0,0.2,0\n"), testing::HasSubstr("line 5: the same module and channel"));
    for (const char* outside : {"3,2,1,0.2,0\n", "3,1,2,0.2,0\n"})
        EXPECT_THAT(refusal(good + outside), testing::HasSubstr("line 5: the camera has no such"));
    for (const char* wrong : {"3,1,1,0.2\n", "3;1;1;0.2;0\n", "3,1,1,0.2,0,0\n", "-3,1,1,0.2,0\n", "3,-1,1,0.2,0\n",
                              "3,1,1,1e9,0\n", "3,1,1,nan,0\n", "\n", "3,1,99999999999,0.2,0\n"})
        EXPECT_THAT(refusal(good + wrong), testing::HasSubstr("line 5: it is no pixel")) << wrong;
    EXPECT_THROW(camera_geometry("/nowhere/pixels.csv", 2, 2), ConfigError);
    EXPECT_THROW(read(good, 1024, 255), ConfigError);
}

TEST_F(PixelsFile, NoneIsTheMadeUpCamera) {
    EXPECT_EQ(camera_geometry("", 12, 7).x_mm, make_camera_geometry(12, 7).x_mm);
}

}  // namespace
}  // namespace anello::camera::geometry_test
