// SPDX-License-Identifier: Apache-2.0
#include "rich/geometry.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/errors.hpp"

namespace rich = anello::rich;

namespace {

double distance_mm(rich::Point a, rich::Point b) {
    return std::hypot(static_cast<double>(a.x_mm) - static_cast<double>(b.x_mm),
                      static_cast<double>(a.y_mm) - static_cast<double>(b.y_mm));
}

TEST(RichGeometry, NeighboursStandOnePitchApartAndNoneIsCloser) {
    const auto positions = rich::disk_positions();
    for (std::uint32_t disk = 0; disk < 2; ++disk)
        for (std::uint32_t a = disk * 976; a < (disk + 1) * 976; ++a) {
            double nearest_mm = 1e9;
            for (std::uint32_t b = disk * 976; b < (disk + 1) * 976; ++b)
                if (a != b) nearest_mm = std::min(nearest_mm, distance_mm(positions[a], positions[b]));
            ASSERT_NEAR(nearest_mm, static_cast<double>(rich::pmt_pitch_mm), 1e-4) << "pmt " << a;
        }
}

TEST(RichGeometry, BothDisksAreAlikeAndSymmetricUnderHalfATurn) {
    const auto positions = rich::disk_positions();
    std::set<std::pair<long, long>> places;
    for (std::uint32_t pmt = 0; pmt < 976; ++pmt) {
        EXPECT_EQ(distance_mm(positions[pmt], positions[pmt + 976]), 0.0);
        places.insert({std::lround(positions[pmt].x_mm * 100), std::lround(positions[pmt].y_mm * 100)});
    }
    EXPECT_EQ(places.size(), 976U);
    for (const auto& [x, y] : places) EXPECT_TRUE(places.contains({-x, -y})) << x << ' ' << y;
}

TEST(RichGeometry, StaysInsideItsKnownOutline) {
    double r_max_mm = 0;
    for (const rich::Point& at : rich::disk_positions()) {
        EXPECT_LE(std::abs(at.x_mm), 297.01F);
        EXPECT_LE(std::abs(at.y_mm), 296.19F);
        r_max_mm = std::max(r_max_mm, distance_mm(at, {0, 0}));
    }
    EXPECT_NEAR(r_max_mm, 313.45, 0.01);
}

TEST(RichGeometry, ReadoutChannelsAreUniqueInvertibleAndOnTheirBoard) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t pmt = 0; pmt < rich::n_pmts; ++pmt) {
        const std::uint32_t channel = rich::readout_channel_of(pmt);
        EXPECT_EQ(channel / 512, rich::board_of(pmt));
        EXPECT_LT(channel % 512, rich::n_pmts_per_board);
        EXPECT_EQ(rich::pmt_of_readout_channel(channel), static_cast<std::int32_t>(pmt));
        EXPECT_TRUE(seen.insert(channel).second);
    }
    EXPECT_EQ(rich::pmt_of_readout_channel(488), -1);
    EXPECT_EQ(rich::pmt_of_readout_channel(2048), -1);
    EXPECT_EQ(rich::pmt_of_readout_channel(0xffffffff), -1);
}

TEST(RichGeometry, FitFramesShiftEachDiskByItsOffset) {
    const auto overlaid = rich::fit_positions(rich::FitFrame::overlaid);
    for (const char* name : {"nominal", "run_2015", "run_2016"}) {
        const rich::FitFrame frame = rich::parse_fit_frame(name);
        const auto fit = rich::fit_positions(frame);
        for (const std::uint32_t pmt : {0U, 487U, 975U, 976U, 1951U}) {
            const rich::Point offset = rich::disk_offset(frame, pmt / 976);
            EXPECT_FLOAT_EQ(fit[pmt].x_mm, overlaid[pmt].x_mm - offset.x_mm);
            EXPECT_FLOAT_EQ(fit[pmt].y_mm, overlaid[pmt].y_mm - offset.y_mm);
        }
    }
    EXPECT_EQ(rich::disk_offset(rich::FitFrame::run_2016, 1).x_mm, 196.7F);
    EXPECT_THROW(rich::parse_fit_frame("2016"), anello::ConfigError);
}

}  // namespace
