// SPDX-License-Identifier: Apache-2.0
#include "pipeline/layout.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace anello::pipeline {
namespace {

constexpr std::array<std::string_view, 5> five_stages{"receive", "build", "trigger", "emit", "store"};
constexpr std::array<std::string_view, 3> three_stages{"receive", "build", "send"};

TEST(Layout, JoinsStagesAndGivesCores) {
    const auto threads = parse_layout({"receive + build", "trigger", "emit+store"}, {1, 0}, five_stages);
    ASSERT_EQ(threads.size(), 3U);
    EXPECT_EQ(threads[0].stages, (std::vector<std::string>{"receive", "build"}));
    EXPECT_EQ(threads[0].core(), 1);
    EXPECT_EQ(threads[1].core(), 0);
    EXPECT_EQ(threads[2].stages, (std::vector<std::string>{"emit", "store"}));
    EXPECT_EQ(threads[2].core(), -1);
}

TEST(Layout, CoresBeyondThoseOfTheThreadsAreOfTheirFurtherLanes) {
    const auto threads = parse_layout({"receive+build", "send"}, {3, -1, 2, -1, 1}, three_stages);
    EXPECT_EQ(threads[0].cores, (std::vector<int>{3, 2, 1}));
    EXPECT_EQ(threads[1].cores, (std::vector<int>{-1, -1}));
    EXPECT_EQ(threads[0].core(2), 1);
    EXPECT_EQ(threads[1].core(2), -1);
}

TEST(Layout, EachChainHasStagesOfItsOwn) {
    const auto two_stage = parse_layout({"receive+build", "send"}, {}, three_stages);
    ASSERT_EQ(two_stage.size(), 2U);
    EXPECT_EQ(two_stage[0].stages, (std::vector<std::string>{"receive", "build"}));
    EXPECT_EQ(parse_layout({"receive", "build", "send"}, {}, three_stages).size(), 3U);
    EXPECT_THROW(parse_layout({"receive+build+trigger+emit+store"}, {}, three_stages), ConfigError);
}

TEST(Layout, RefusesMissingDoubleUnknownAndMisplacedStages) {
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{},
                                               {"receive+build+trigger+emit"},
                                               {"receive", "receive+build+trigger+emit+store"},
                                               {"build+receive+trigger+emit+store"},
                                               {"receive+build+decide+emit+store"},
                                               {"receive+build+trigger+emit+store+"},
                                               {"receive++build+trigger+emit+store"},
                                               {"receive+build+trigger+emit+store", "store"}})
        EXPECT_THROW(parse_layout(wrong, {}, five_stages), ConfigError);
}

}  // namespace
}  // namespace anello::pipeline
