// SPDX-License-Identifier: Apache-2.0
#include "camera/events/intake_choice.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "camera/events/copy.hpp"
#include "core/copy_ahead.hpp"

namespace anello::camera::intake_choice_test {
namespace {

Nanoseconds cpu_ns = 1000;
std::uint32_t n_readings = 0;

Nanoseconds read_cpu() noexcept {
    ++n_readings;
    return cpu_ns;
}

/// Steps of a traffic in which each way costs so much.
class Traffic {
  public:
    void pass(CameraIntakeChoice& choice, std::uint32_t n_steps, double plain, double ahead, double past) {
        for (; n_steps > 0; --n_steps) {
            const double cost = choice.copy() == copy_plainly ? plain : choice.copy() == copy_ahead ? ahead : past;
            n_bytes_ += step_bytes;
            n_datagrams_ += step_bytes / datagram_bytes;
            cpu_ns += static_cast<Nanoseconds>(cost * static_cast<double>(step_bytes));
            choice.look(n_bytes_, n_datagrams_);
        }
    }
    void rest(CameraIntakeChoice& choice) {
        cpu_ns += 1'000'000'000;
        choice.look(n_bytes_, n_datagrams_);
    }

    std::uint64_t step_bytes = 64 << 10, datagram_bytes = 1024;

  private:
    std::uint64_t n_bytes_ = 0, n_datagrams_ = 0;
};

constexpr std::uint32_t turns_of_copies = CameraIntakeChoice::turns_per_way * CameraIntakeChoice::n_copies;
constexpr std::uint32_t trial = CameraIntakeChoice::steps_per_turn * turns_of_copies;
constexpr std::uint32_t trial_of_sizes = trial * CameraIntakeChoice::call_sizes.size();

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

TEST(CameraIntakeChoice, TakesWhatCostsTheTrafficLeast) {
    for (const CopyMode best : {CopyMode::plain, CopyMode::ahead, CopyMode::non_temporal}) {
        CameraIntakeChoice choice(CopyMode::automatic, read_cpu);
        Traffic traffic;
        traffic.pass(choice, trial - 1, 0.2, 0.2, 0.2);
        EXPECT_EQ(choice.chosen_copy(), CopyMode::automatic);
        EXPECT_THAT(choice.describe(), testing::HasSubstr("too little"));
        CameraIntakeChoice other(CopyMode::automatic, read_cpu);
        traffic.pass(other, trial + 1, best == CopyMode::plain ? 0.1 : 0.2, best == CopyMode::ahead ? 0.1 : 0.2,
                     best == CopyMode::non_temporal ? 0.1 : 0.2);
        EXPECT_EQ(other.chosen_copy(), best);
        EXPECT_THAT(other.describe(), testing::HasSubstr(std::string("auto: ") + name_of(best)));
        EXPECT_THAT(other.describe(), testing::HasSubstr(std::string("0.100 ns per byte ") + name_of(best)));
    }
}

TEST(CameraIntakeChoice, WhatDisturbsOneTurnDoesNotDecide) {
    CameraIntakeChoice choice(CopyMode::automatic, read_cpu);
    Traffic traffic;
    traffic.pass(choice, CameraIntakeChoice::steps_per_turn, 9.0, 0.2, 0.2);
    traffic.pass(choice, trial, 0.1, 0.2, 0.2);
    EXPECT_EQ(choice.chosen_copy(), CopyMode::plain);
}

TEST(CameraIntakeChoice, IsMadeAgainNowAndThen) {
    CameraIntakeChoice choice(CopyMode::automatic, read_cpu);
    Traffic traffic;
    traffic.pass(choice, trial + 1, 0.1, 0.2, 0.3);  // the clock is first read after a step
    EXPECT_EQ(choice.copy(), &copy_plainly);
    EXPECT_THAT(choice.describe(), testing::HasSubstr("trial 1, at the start"));
    traffic.pass(choice, CameraIntakeChoice::steps_between + trial - 1, 0.4, 0.2, 0.3);
    EXPECT_EQ(choice.chosen_copy(), CopyMode::plain);
    traffic.pass(choice, 1, 0.4, 0.2, 0.3);
    EXPECT_EQ(choice.chosen_copy(), CopyMode::ahead);
    EXPECT_THAT(choice.describe(), testing::HasSubstr("trial 2, as time had passed"));
}

TEST(CameraIntakeChoice, IsMadeAgainWhenTheTrafficChanges) {
    constexpr std::uint32_t two_blocks = 2 * CameraIntakeChoice::steps_per_block;
    const auto n_trials_after = [](auto change) {
        CameraIntakeChoice choice(CopyMode::automatic, read_cpu);
        Traffic traffic;
        traffic.pass(choice, trial + 1 + two_blocks, 0.1, 0.2, 0.3);
        change(traffic);
        traffic.pass(choice, two_blocks + trial, 0.1, 0.2, 0.3);
        EXPECT_EQ(choice.chosen_copy(), CopyMode::plain);
        return choice.describe();
    };
    const auto is_again = testing::HasSubstr("trial 2, as datagrams came in another size or number");
    const auto is_first = testing::HasSubstr("trial 1, at the start");
    EXPECT_THAT(n_trials_after([](Traffic&) {}), is_first);
    EXPECT_THAT(n_trials_after([](Traffic& traffic) { traffic.step_bytes = traffic.step_bytes * 3 / 2; }), is_first);
    EXPECT_THAT(n_trials_after([](Traffic& traffic) { traffic.step_bytes *= 3; }), is_again);
    EXPECT_THAT(n_trials_after([](Traffic& traffic) { traffic.step_bytes /= 3; }), is_again);
    EXPECT_THAT(n_trials_after([](Traffic& traffic) { traffic.datagram_bytes = 8192; }), is_again);
    EXPECT_THAT(n_trials_after([](Traffic& traffic) { traffic.datagram_bytes = 512; }), is_again);
}

TEST(CameraIntakeChoice, SmallStepsAndRestsSayNothing) {
    CameraIntakeChoice choice(CopyMode::automatic, read_cpu);
    Traffic traffic;
    traffic.step_bytes = CameraIntakeChoice::least_step_bytes - 1;
    traffic.pass(choice, 10 * trial, 0.3, 0.2, 0.1);
    EXPECT_EQ(choice.chosen_copy(), CopyMode::automatic);
    traffic.step_bytes = CameraIntakeChoice::least_step_bytes;
    for (std::uint32_t i = 0; i < trial + 1; ++i) {
        traffic.pass(choice, 1, 0.3, 0.2, 0.1);
        traffic.rest(choice);
    }
    EXPECT_EQ(choice.chosen_copy(), CopyMode::non_temporal);
}

TEST(CameraIntakeChoice, TheClockIsReadDuringTrialsAndWhileEnoughComesOnly) {
    CameraIntakeChoice choice(CopyMode::automatic, read_cpu);
    Traffic traffic;
    traffic.step_bytes = CameraIntakeChoice::least_step_bytes - 1;
    n_readings = 0;
    traffic.pass(choice, 10 * trial, 0.3, 0.2, 0.1);
    EXPECT_LT(n_readings, CameraIntakeChoice::small_steps_timed);
    traffic.step_bytes = 64 << 10;
    traffic.pass(choice, trial + 1, 0.1, 0.2, 0.3);
    EXPECT_EQ(choice.chosen_copy(), CopyMode::plain);
    EXPECT_LE(n_readings, CameraIntakeChoice::small_steps_timed + trial + 1);
    n_readings = 0;
    traffic.pass(choice, CameraIntakeChoice::steps_between / 2, 0.1, 0.2, 0.3);
    EXPECT_EQ(n_readings, 0);
}

/// The outcome for a traffic in which calls of each size cost so much, and one copy method a fifth less.
struct Outcome {
    std::size_t call_bytes;
    CopyMode copy;
    std::string words;
};
Outcome outcome_for(std::array<double, 3> cost_of_size) {
    CameraIntakeChoice choice(CopyMode::automatic, read_cpu);
    choice.try_call_sizes();
    EXPECT_EQ(choice.call_bytes(), receive::usual_call_bytes) << "before anything was tried";
    Traffic traffic;
    for (std::uint32_t i = 0; i < trial_of_sizes + 1; ++i) {
        const auto size = std::ranges::find(CameraIntakeChoice::call_sizes, choice.call_bytes());
        const double cost = cost_of_size[static_cast<std::size_t>(size - CameraIntakeChoice::call_sizes.begin())];
        traffic.pass(choice, 1, cost, 0.8 * cost, cost);
    }
    return {choice.call_bytes(), choice.chosen_copy(), choice.describe()};
}

TEST(CameraIntakeChoice, CallsOfTheSizeThatCostsLeast) {
    for (std::size_t best = 0; best < 3; ++best) {
        std::array cost{0.2, 0.2, 0.2};
        cost[best] = 0.1;
        const Outcome outcome = outcome_for(cost);
        EXPECT_EQ(outcome.call_bytes, CameraIntakeChoice::call_sizes[best]);
        EXPECT_EQ(outcome.copy, CopyMode::ahead);
        EXPECT_THAT(outcome.words, testing::HasSubstr(fmt::format("auto: ahead, {} kB per call",
                                                                  CameraIntakeChoice::call_sizes[best] >> 10)));
    }
    EXPECT_THAT(outcome_for({0.3, 0.1, 0.2}).words, testing::HasSubstr("0.240/0.080/0.160 ns per byte ahead"));
}

TEST(CameraIntakeChoice, OfSizesThatCostAboutTheSameTheUsualOne) {
    EXPECT_EQ(outcome_for({0.198, 0.2, 0.2}).call_bytes, receive::usual_call_bytes);
    EXPECT_EQ(outcome_for({0.2, 0.2, 0.198}).call_bytes, receive::usual_call_bytes);
    EXPECT_EQ(outcome_for({0.18, 0.2, 0.2}).call_bytes, CameraIntakeChoice::call_sizes.front());
}

TEST(CameraIntakeChoice, OneThatIsConfiguredStays) {
    CameraIntakeChoice choice(CopyMode::ahead, read_cpu);
    Traffic traffic;
    traffic.pass(choice, 2 * trial, 0.1, 0.9, 0.1);
    EXPECT_EQ(choice.copy(), &copy_ahead);
    EXPECT_EQ(choice.describe(), "ahead");
    EXPECT_EQ(choice.call_bytes(), receive::usual_call_bytes);
}

}  // namespace
}  // namespace anello::camera::intake_choice_test
