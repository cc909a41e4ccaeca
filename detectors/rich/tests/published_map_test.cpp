// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rich/geometry.hpp"
#include "rich/tests/real_data.hpp"

namespace rich = anello::rich;

namespace {

TEST(RichGeometry, AgreesWithThePublishedMapInEveryRow) {
    const auto path = anello::test::real_data("na62_rich_pmt_map.csv");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent; set ANELLO_DATA";
    const auto rows = anello::test::read_csv(path);
    ASSERT_EQ(rows.size(), rich::n_pmts);
    const auto positions = rich::disk_positions();
    for (const auto& row : rows) {  // seq, disk, updown, supercell, pmt, x_mm, y_mm, readout_channel
        const auto pmt = static_cast<std::uint32_t>(row[0]);
        ASSERT_EQ(pmt, (row[1] * 2 + row[2]) * 488 + row[3] * 8 + row[4]);
        EXPECT_NEAR(static_cast<double>(positions[pmt].x_mm), row[5], 0.006) << "pmt " << pmt;
        EXPECT_NEAR(static_cast<double>(positions[pmt].y_mm), row[6], 0.006) << "pmt " << pmt;
        EXPECT_EQ(rich::readout_channel_of(pmt), row[7]) << "pmt " << pmt;
    }
}

TEST(RichGeometry, TheFitFrameOfRun8548IsThatOf2016) {
    const auto path = anello::test::real_data("na62_run8548_events_hits.csv");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent; set ANELLO_DATA";
    const auto fit = rich::fit_positions(rich::FitFrame::run_2016);
    for (const auto& row : anello::test::read_csv(path)) {  // event, pmt_seq, disk, x_mm, y_mm, in_time
        const auto pmt = static_cast<std::uint32_t>(row[1]);
        EXPECT_NEAR(static_cast<double>(fit[pmt].x_mm), row[3], 0.01);
        EXPECT_NEAR(static_cast<double>(fit[pmt].y_mm), row[4], 0.01);
    }
}

}  // namespace
