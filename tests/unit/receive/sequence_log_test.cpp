// SPDX-License-Identifier: Apache-2.0
#include "receive/numbers/sequence_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "receive/numbers/sequence_tracker.hpp"

namespace anello::receive {
namespace {

using Numbers = std::set<std::pair<std::uint32_t, std::uint64_t>>;  // epoch, number

Numbers numbers_of(const RangeLog& log) {
    Numbers numbers;
    for (const RangeLog::Range& range : log.ranges())
        for (std::uint64_t number = range.begin; number < range.end; ++number) numbers.insert({range.epoch, number});
    return numbers;
}

TEST(SequenceLog, NamesWhatNeverCame) {
    SequenceLog log(100);
    SequenceTracker tracker;
    tracker.write_to(log);
    for (const std::uint32_t sequence : {0, 5, 3, 9}) tracker.accept(sequence, 1);
    tracker.announce_next(12);
    EXPECT_TRUE(log.missing.ranges().empty()) << "it may still come";
    tracker.close_log();
    EXPECT_EQ(numbers_of(log.missing), (Numbers{{0, 1}, {0, 2}, {0, 4}, {0, 6}, {0, 7}, {0, 8}, {0, 10}, {0, 11}}));
    ASSERT_EQ(log.expected.ranges().size(), 1U);
    EXPECT_EQ(log.expected.ranges()[0].end, 12U);
    tracker.close_log();
    EXPECT_EQ(log.expected.ranges().size(), 1U) << "once";
}

TEST(SequenceLog, ALongLossAndARestartAreNamed) {
    SequenceLog log(100);
    SequenceTracker tracker;
    tracker.write_to(log);
    tracker.accept(0, 1);
    tracker.accept(50'000, 1);  // a stray,
    tracker.accept(50'001, 1);  // which this one confirms
    tracker.restart();
    tracker.accept(1, 1);
    tracker.close_log();
    EXPECT_EQ(log.expected.ranges().size(), 2U);
    EXPECT_EQ(numbers_of(log.missing).size(), 50'001U);
    EXPECT_TRUE(numbers_of(log.missing).contains({1, 0})) << "epochs are kept apart";
    EXPECT_EQ(tracker.n_lost(), 50'001U);
}

/// Losses, repetitions and disorder within the window, packets of several numbers, restarts; against a plain set.
TEST(SequenceLog, AgreesWithASetOfWhatCame) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        SequenceLog log(1'000'000);
        SequenceTracker tracker;
        tracker.write_to(log);
        Numbers came, expected;
        for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
            if (epoch > 0) tracker.restart();
            std::uint32_t next = 0, front = 0;
            for (int i = 0; i < 20'000; ++i) {
                const std::uint32_t step = 1 + random() % 4;
                const std::uint32_t back = std::min<std::uint32_t>(random() % 8 == 0 ? random() % 1000 : 0, next);
                if (random() % 10 != 0) {
                    const std::uint32_t first = next - back;
                    tracker.accept(first, step);
                    for (std::uint32_t number = first; number < first + step; ++number)
                        if (first >= front || number < front) came.insert({epoch, number});  // only below it
                    if (first >= front) front = first + step;
                }
                if (back == 0) next += step;
            }
            tracker.announce_next(next);
            next = std::max(next, front);
            for (std::uint32_t number = 0; number < next; ++number)
                if (!came.contains({epoch, number})) expected.insert({epoch, number});
        }
        tracker.close_log();
        EXPECT_EQ(log.missing.n_not_listed(), 0U);
        EXPECT_EQ(numbers_of(log.missing), expected);
        EXPECT_EQ(tracker.n_lost(), expected.size());
    }
}

}  // namespace
}  // namespace anello::receive
