// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "camera/tests/rig.hpp"

/// Who may speak for a board that shares its port with others.
namespace anello::camera::test::sources_test {
namespace {

using enum CameraBuildCounter;

receive::SourceAddress address_of(std::uint32_t board) {
    return {0x0a000000 + board, 4711};
}

void place_events(CameraRig& rig, std::uint32_t first, std::uint32_t n_events) {
    for (std::uint32_t event = first; event < first + n_events; ++event) {
        for (TestBoard& board : rig.boards) rig.place(board.data(event), 0, address_of(board.number()));
        rig.take_all();
    }
}

TEST(CameraSources, ABoardThatUsesAnothersNameIsNotUsed) {
    CameraRig rig(small_camera());
    place_events(rig, 0, 1100);
    TestBoard impostor(2);
    for (std::uint32_t event = 0; event < 1500; ++event) {
        const Bytes datagram = impostor.data(event);
        if (event >= 1100) rig.place(datagram, 0, address_of(1));
        if (event >= 1100) place_events(rig, event, 1);
    }
    rig.place(impostor.end(), 0, address_of(1));
    rig.finish();
    EXPECT_EQ(rig.value(strangers), 401U);
    EXPECT_EQ(rig.value(2, CameraBoardCounter::strangers), 401U);
    EXPECT_EQ(rig.value(events_complete), 1500U);
    EXPECT_EQ(rig.value(fragments_duplicate), 0U);
    EXPECT_EQ(rig.builder.speakers(2).stranger, address_of(1));
    EXPECT_EQ(rig.builder.speakers(2).bound, address_of(2));
    expect_sums(rig.builder);
}

TEST(CameraSources, WhoSpeaksFirstCostsAsManyEventsAsItSent) {
    CameraRig rig(small_camera());
    TestBoard impostor(2);
    for (std::uint32_t event = 0; event < 5; ++event) rig.place(impostor.data(event), 0, address_of(1));
    place_events(rig, 0, 100);
    for (TestBoard& board : rig.boards) rig.place(board.end(), 0, address_of(board.number()));
    rig.finish();
    EXPECT_EQ(rig.value(2, CameraBoardCounter::disowned), 5U);
    EXPECT_EQ(rig.value(2, CameraBoardCounter::source_changes), 1U);
    EXPECT_EQ(rig.value(2, CameraBoardCounter::mistaken_strangers), 5U);
    EXPECT_EQ(rig.value(2, CameraBoardCounter::lost), 5U);
    EXPECT_EQ(rig.value(events_out), 100U);
    EXPECT_GE(rig.value(events_complete), 99U);
    expect_sums(rig.builder);
    for (std::uint32_t board = 0; board < 4; ++board) expect_board_sum(rig.builder, board);
}

TEST(CameraSources, TheNextRunMayComeFromAnotherPort) {
    CameraRig rig(small_camera());
    place_events(rig, 0, 1100);
    for (TestBoard& board : rig.boards) rig.place(board.end(), 0, address_of(board.number()));
    for (TestBoard& board : rig.boards) {
        board.begin_run(2);
        rig.place(board.start(), 0, {address_of(board.number()).host(), 9999});
    }
    for (TestBoard& board : rig.boards) rig.place(board.data(0), 0, {address_of(board.number()).host(), 9999});
    EXPECT_EQ(rig.value(strangers), 0U);
    EXPECT_EQ(rig.value(2, CameraBoardCounter::source_changes), 1U);
    EXPECT_EQ(rig.value(2, CameraBoardCounter::disowned), 0U);
}

TEST(CameraSources, OnlyWhoIsConfiguredIsHeard) {
    CameraBuilderConfig config = small_camera();
    for (std::uint32_t board = 0; board < 4; ++board) config.sources.push_back(address_of(board));
    CameraRig rig(config);
    TestBoard impostor(2);
    for (std::uint32_t event = 0; event < 5; ++event) rig.place(impostor.data(event), 0, address_of(1));
    rig.place(impostor.start(), 0, address_of(1));
    EXPECT_EQ(rig.value(strangers), 6U);
    EXPECT_EQ(rig.value(runs_begun), 0U);
    place_events(rig, 0, 10);
    EXPECT_EQ(rig.value(events_complete), 10U);
}

}  // namespace
}  // namespace anello::camera::test::sources_test
