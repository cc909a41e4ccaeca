// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "camera/tests/capture.hpp"
#include "unit/source/sent_log_check.hpp"

/// What a camera's boards send for a seed, datagram by datagram with markers, is held by its checksum: files,
/// measurements and other programs' tests rely on getting the same again. A change of these numbers is a change of
/// what every user's simulated front ends send.
namespace anello::camera::sent_bytes_test {

using namespace anello::camera::test;

namespace {

std::vector<std::uint32_t> digests(const CameraSourceConfig& config) {
    const CameraRun run(config);
    std::vector<std::uint32_t> of_boards;
    for (std::uint32_t stream = 0; stream < config.n_own_boards(); ++stream)
        of_boards.push_back(source::test::digest_of(run.sink.streams[stream]));
    return of_boards;
}

/// Four of the boards, so that their checksums fit a line.
CameraSourceConfig four_boards() {
    CameraSourceConfig config = small_source();
    config.first_board = 4;
    config.n_boards = 4;
    config.n_events = 200;
    return config;
}

TEST(CameraSentBytes, OfWaveforms) {
    EXPECT_EQ(digests(four_boards()), (std::vector<std::uint32_t>{0x6634ac10, 0xf595d8b7, 0x5a521555, 0xbcbeddbf}));
}

TEST(CameraSentBytes, OfWaveformsWithEveryFault) {
    CameraSourceConfig config = four_boards();
    config.faults = source::test::all_faults;
    config.faults.dead_board = 5;
    config.faults.dead_from_event = 150;
    EXPECT_EQ(digests(config), (std::vector<std::uint32_t>{0x964bfe70, 0x04912db5, 0xb409e7c4, 0xbe446439}));
}

TEST(CameraSentBytes, OfFirstCellsFromBoardsThatAreSpread) {
    CameraSourceConfig config = four_boards();
    config.counters = wire::camera::CountersKind::dragon_drs4;
    config.burst = false;
    config.spread_us = 300;
    config.start_at_ns = 5'000'000;
    config.faults = source::test::all_faults;
    EXPECT_EQ(digests(config), (std::vector<std::uint32_t>{0xdade42cc, 0xcee0fdc4, 0xd125a6d6, 0xf88787dd}));
}

TEST(CameraSentBytes, OfAPatternAsFastAsItGoes) {
    CameraSourceConfig config = four_boards();
    config.payload = CameraPayload::pattern;
    config.payload_bytes = 1000;
    config.paced = false;
    config.pool_events = 3;
    config.faults = source::test::all_faults;
    EXPECT_EQ(digests(config), (std::vector<std::uint32_t>{0xc6379eb5, 0xcd3d10ae, 0x6a0d2e1c, 0x241d92ff}));
}

}  // namespace
}  // namespace anello::camera::sent_bytes_test
