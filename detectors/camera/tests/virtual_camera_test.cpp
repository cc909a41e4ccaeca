// SPDX-License-Identifier: Apache-2.0
#include "camera/simulate/virtual_camera.hpp"

#include <gtest/gtest.h>

#include <string>

#include "unit/simulate/chain_seeds.hpp"

namespace anello::camera {
namespace {

using simulate::first_of;

constexpr Nanoseconds ms = 1'000'000;

/// No path waits for a timer that it need not wait for: those of the chain are of a millisecond and more.
TEST(VirtualCamera, WaitsForNoTimer) {
    for (const std::vector<std::string>& layout :
         std::vector<std::vector<std::string>>{{"receive+build+filter", "send"},
                                               {"receive", "build+filter", "send"},
                                               {"receive", "build", "filter", "send"}})
        for (const std::uint32_t n_groups : {1U, 3U}) {
            const CameraScenario scenario{.layout = layout, .n_groups = n_groups};
            VirtualCamera camera(scenario);
            camera.run();
            EXPECT_EQ(first_of(judge(camera, scenario)), "");
            EXPECT_TRUE(camera.finished());
            EXPECT_EQ(camera.events().size(), scenario.n_events);
            Nanoseconds longest_ns = 0;
            for (const auto& [number, event] : camera.events()) {
                EXPECT_EQ(event.present.count(), VirtualCamera::n_boards) << number;
                longest_ns = std::max(longest_ns, event.taken_ns - event.last_came_ns());
            }
            EXPECT_LT(longest_ns, ms / 2);
        }
}

TEST(VirtualCamera, IsAFunctionOfItsSeed) {
    const auto digest = [](std::uint64_t seed) {
        VirtualCamera camera(VirtualCamera::drawn(seed));
        camera.run();
        return camera.world().digest();
    };
    for (std::uint64_t seed = 1; seed < 10; ++seed) EXPECT_EQ(digest(seed), digest(seed)) << seed;
    EXPECT_NE(digest(1), digest(2));
}

TEST(VirtualCamera, WhateverHappensIsExplained) {
    simulate::expect_all_explained<VirtualCamera>("camera_chain_seeds", 200);
}

TEST(VirtualCamera, BoardsThatBeginAnewAreExplained) {
    simulate::expect_explained_with<VirtualCamera>({{"n_rebooting=1", "first_rebooting=3"},
                                                    {"n_rebooting=7", "first_rebooting=3"},
                                                    {"n_rebooting=19", "first_rebooting=0"}},
                                                   120);
}

TEST(VirtualCamera, WrongClocksAreExplained) {
    simulate::expect_explained_with<VirtualCamera>({{"n_wrong_clocks=1", "first_wrong_clock=3", "clock_step_ns=0"},
                                                    {"n_wrong_clocks=9", "first_wrong_clock=3", "clock_step_ns=-3e6"},
                                                    {"n_wrong_clocks=12", "first_wrong_clock=0", "clock_step_ns=1e9"}},
                                                   120);
}

TEST(VirtualCamera, NumbersThatWrapAreExplained) {
    simulate::expect_explained_with<VirtualCamera>({{"wraps_after=1"}, {"wraps_after=30"}}, 120);
}

TEST(VirtualCamera, WhatABoardSendsAnewIsNotTakenForRepeated) {
    CameraScenario scenario;
    scenario.troubles.boards = {.n_rebooting = 1, .first_rebooting = 5, .reboot_at_ns = 40 * ms, .down_ns = 30 * ms};
    VirtualCamera camera(scenario);
    camera.run();
    EXPECT_EQ(first_of(judge(camera, scenario)), "");
    EXPECT_GT(camera.count("build.board5", "conflicting"), 10U);
    EXPECT_EQ(camera.count("build.board5", "conflicting"), camera.count("build.board5", "duplicate"));
    EXPECT_EQ(camera.count("build.board4", "missing"), 0U);
}

}  // namespace
}  // namespace anello::camera
