// SPDX-License-Identifier: Apache-2.0
#include "virtual_camera.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace anello::camera {
namespace {

constexpr Nanoseconds ms = 1'000'000;

std::string first_of(const std::vector<std::string>& findings) {
    std::string all;
    for (std::size_t i = 0; i < std::min<std::size_t>(findings.size(), 5); ++i) all += findings[i] + "\n";
    return all;
}

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
        VirtualCamera camera(draw(seed));
        camera.run();
        return camera.world().digest();
    };
    for (std::uint64_t seed = 1; seed < 10; ++seed) EXPECT_EQ(digest(seed), digest(seed)) << seed;
    EXPECT_NE(digest(1), digest(2));
}

/// ANELLO_CHAIN_SEEDS=FIRST:N asks for others: all that are not explained are told.
TEST(VirtualCamera, WhateverHappensIsExplained) {
    std::uint64_t first = std::random_device{}(), n_seeds = 200;
    if (const char* wanted = std::getenv("ANELLO_CHAIN_SEEDS"); wanted != nullptr) {
        std::size_t n_read = 0;
        first = std::stoull(wanted, &n_read);
        n_seeds = std::stoull(wanted + n_read + 1);
    }
    std::uint64_t n_events = 0;
    for (std::uint64_t seed = first; seed < first + n_seeds; ++seed) {
        const CameraScenario scenario = draw(seed);
        VirtualCamera camera(scenario);
        camera.run();
        n_events += camera.events().size();
        EXPECT_EQ(first_of(judge(camera, scenario)), "") << describe(scenario);
    }
    std::cout << n_seeds << " cameras, seeds from " << first << ", " << n_events << " events\n";
}

}  // namespace
}  // namespace anello::camera
