// SPDX-License-Identifier: Apache-2.0
#include "camera/tests/capture.hpp"
#include "unit/source/sent_log_check.hpp"

namespace anello::camera::sent_log_test {

using namespace anello::camera::test;
using namespace anello::source::test;

namespace {

TEST(CameraSentLog, NamesEveryFragment) {
    CameraSourceConfig config = small_source();
    config.n_events = 400;
    config.faults = all_faults;
    config.faults.dead_board = 5;
    config.faults.dead_from_event = 300;
    const CameraRun run(config);
    for (std::uint32_t board = 0; board < 12; ++board) {
        SCOPED_TRACE(board);
        std::vector<std::uint32_t> sequences;
        for (const auto& header : receive_camera(run.sink.streams[board]).headers) sequences.push_back(header.sequence);
        expect_whole(run.source.sent_log(board), sequences);
        EXPECT_EQ(n_withheld(run.source.sent_log(board), anello::source::Withheld::board_dead), board == 5 ? 100U : 0U);
    }
}

}  // namespace
}  // namespace anello::camera::sent_log_test
