// SPDX-License-Identifier: Apache-2.0
#include "camera/events/copy_choice.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "camera/events/copy.hpp"
#include "core/copy_ahead.hpp"

namespace anello::camera {
namespace {

/// Steps of a traffic in which each way costs so much.
class Traffic {
  public:
    void pass(CameraCopyChoice& choice, std::uint32_t n_steps, double plain, double ahead, double past) {
        for (; n_steps > 0; --n_steps) {
            const double cost = choice.current() == copy_plainly ? plain
                                : choice.current() == copy_ahead ? ahead
                                                                 : past;
            n_bytes_ += step_bytes;
            now_ns_ += static_cast<Nanoseconds>(cost * static_cast<double>(step_bytes));
            choice.look(now_ns_, n_bytes_);
        }
    }
    void rest(CameraCopyChoice& choice) { choice.look(now_ns_ += 1'000'000'000, n_bytes_); }

    std::uint64_t step_bytes = 64 << 10;

  private:
    Nanoseconds now_ns_ = 1000;
    std::uint64_t n_bytes_ = 0;
};

constexpr std::uint32_t trial = CameraCopyChoice::steps_per_turn * CameraCopyChoice::n_turns;

TEST(CameraCopy, PastTheCacheEachByteArrivesAndTheLineEndsInZeros) {
    constexpr std::size_t line_bytes = 64, n_bytes = 4 * line_bytes;
    std::array<std::byte, n_bytes> from;
    for (std::size_t i = 0; i < n_bytes; ++i) from[i] = static_cast<std::byte>(i + 1);
    for (const CopyFunction copy : {copy_past_cache_sse2(), copy_past_cache_avx512(), choose_copy_past_cache()}) {
        for (std::size_t length = 0; copy != nullptr && length < n_bytes - line_bytes; ++length) {
            alignas(line_bytes) std::array<std::byte, n_bytes> to, expected;
            to.fill(std::byte{0xee});
            expected = to;
            std::fill_n(expected.begin(), (length + line_bytes - 1) / line_bytes * line_bytes, std::byte{0});
            std::copy_n(from.begin(), length, expected.begin());
            copy(to.data(), std::span(from).first(length));
            finish_copies_past_cache();
            ASSERT_EQ(to, expected) << length << " bytes";
        }
    }
}

TEST(CameraCopyChoice, TakesWhatCostsTheTrafficLeast) {
    for (const CopyMode best : {CopyMode::plain, CopyMode::ahead, CopyMode::non_temporal}) {
        CameraCopyChoice choice(CopyMode::automatic);
        Traffic traffic;
        traffic.pass(choice, trial - 1, 0.2, 0.2, 0.2);
        EXPECT_EQ(choice.chosen(), CopyMode::automatic);
        EXPECT_THAT(choice.describe(), testing::HasSubstr("too little"));
        CameraCopyChoice other(CopyMode::automatic);
        traffic.pass(other, trial + 1, best == CopyMode::plain ? 0.1 : 0.2, best == CopyMode::ahead ? 0.1 : 0.2,
                     best == CopyMode::non_temporal ? 0.1 : 0.2);
        EXPECT_EQ(other.chosen(), best);
        EXPECT_THAT(other.describe(), testing::HasSubstr(std::string("auto: ") + name_of(best)));
        EXPECT_THAT(other.describe(), testing::HasSubstr(std::string("0.100 ns per byte ") + name_of(best)));
    }
}

TEST(CameraCopyChoice, WhatDisturbsOneTurnDoesNotDecide) {
    CameraCopyChoice choice(CopyMode::automatic);
    Traffic traffic;
    traffic.pass(choice, CameraCopyChoice::steps_per_turn, 9.0, 0.2, 0.2);
    traffic.pass(choice, trial, 0.1, 0.2, 0.2);
    EXPECT_EQ(choice.chosen(), CopyMode::plain);
}

TEST(CameraCopyChoice, IsMadeAgainWhenTheTrafficChanges) {
    CameraCopyChoice choice(CopyMode::automatic);
    Traffic traffic;
    traffic.pass(choice, trial, 0.1, 0.2, 0.3);
    EXPECT_EQ(choice.current(), &copy_plainly);
    traffic.pass(choice, CameraCopyChoice::steps_between + trial, 0.4, 0.2, 0.3);
    EXPECT_EQ(choice.chosen(), CopyMode::ahead);
}

TEST(CameraCopyChoice, SmallStepsAndRestsSayNothing) {
    CameraCopyChoice choice(CopyMode::automatic);
    Traffic traffic;
    traffic.step_bytes = CameraCopyChoice::least_step_bytes - 1;
    traffic.pass(choice, 10 * trial, 0.3, 0.2, 0.1);
    EXPECT_EQ(choice.chosen(), CopyMode::automatic);
    traffic.step_bytes = CameraCopyChoice::least_step_bytes;
    for (std::uint32_t i = 0; i < trial; ++i) {
        traffic.pass(choice, 1, 0.3, 0.2, 0.1);
        traffic.rest(choice);
    }
    EXPECT_EQ(choice.chosen(), CopyMode::non_temporal);
}

TEST(CameraCopyChoice, OneThatIsConfiguredStays) {
    CameraCopyChoice choice(CopyMode::ahead);
    Traffic traffic;
    traffic.pass(choice, 2 * trial, 0.1, 0.9, 0.1);
    EXPECT_EQ(choice.current(), &copy_ahead);
    EXPECT_EQ(choice.describe(), "ahead");
}

}  // namespace
}  // namespace anello::camera
