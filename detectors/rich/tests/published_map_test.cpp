// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lookalikes/detector_file.hpp"
#include "rich/geometry.hpp"

namespace rich = anello::rich;

namespace {

/// Rows of a CSV file without its heading, as numbers.
std::vector<std::vector<double>> read_csv(const std::filesystem::path& path) {
    std::vector<std::vector<double>> rows;
    std::ifstream file(path);
    std::string line, field;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        auto& row = rows.emplace_back();
        while (std::getline(fields, field, ',')) row.push_back(std::stod(field));
    }
    return rows;
}

class RichMap : public anello::test::DetectorFile {
  protected:
    RichMap() : DetectorFile("na62_rich_pmt_map.csv") {}
};

TEST_P(RichMap, AgreesWithTheGeometryInEveryRow) {
    const auto rows = read_csv(path());
    ASSERT_EQ(rows.size(), of_this(std::size_t{rich::n_pmts}, std::size_t{240}));
    const auto positions = rich::disk_positions();
    for (const auto& row : rows) {  // seq, disk, updown, supercell, pmt, x_mm, y_mm, readout_channel
        const auto pmt = static_cast<std::uint32_t>(row[0]);
        ASSERT_EQ(pmt, (row[1] * 2 + row[2]) * 488 + row[3] * 8 + row[4]);
        EXPECT_NEAR(static_cast<double>(positions[pmt].x_mm), row[5], 0.006) << "pmt " << pmt;
        EXPECT_NEAR(static_cast<double>(positions[pmt].y_mm), row[6], 0.006) << "pmt " << pmt;
        EXPECT_EQ(rich::readout_channel_of(pmt), row[7]) << "pmt " << pmt;
    }
}

INSTANTIATE_TEST_SUITE_P(Data, RichMap, anello::test::both_kinds, anello::test::kind_name);

class RichEvents : public anello::test::DetectorFile {
  protected:
    RichEvents() : DetectorFile("na62_run8548_events_hits.csv") {}
};

TEST_P(RichEvents, FitFrameIsThatOf2016) {
    const auto fit = rich::fit_positions(rich::FitFrame::run_2016);
    const auto rows = read_csv(path());
    ASSERT_EQ(rows.size(), of_this(1998U, 243U));
    for (const auto& row : rows) {  // event, pmt_seq, disk, x_mm, y_mm, in_time
        const auto pmt = static_cast<std::uint32_t>(row[1]);
        EXPECT_NEAR(static_cast<double>(fit[pmt].x_mm), row[3], 0.01);
        EXPECT_NEAR(static_cast<double>(fit[pmt].y_mm), row[4], 0.01);
    }
}

INSTANTIATE_TEST_SUITE_P(Data, RichEvents, anello::test::both_kinds, anello::test::kind_name);

}  // namespace
