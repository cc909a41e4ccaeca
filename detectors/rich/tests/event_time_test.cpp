// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/event_time.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/clock.hpp"

namespace anello::rich::event_time_test {
namespace {

/// A batch of events, given by the times of their hits from the tick's begin.
struct Batch {
    explicit Batch(const std::vector<std::vector<std::int16_t>>& events) : fine_time(events.size(), 7) {
        for (const auto& event : events) {
            times.insert(times.end(), event.begin(), event.end());
            offset.push_back(static_cast<std::uint32_t>(times.size()));
        }
        events::BatchColumns columns{};
        columns.hit_offset = offset.data();
        columns.fine_time = fine_time.data();
        columns.hit_time_fine = times.data();
        find_event_times(columns, static_cast<std::uint32_t>(events.size()));
    }
    std::vector<std::uint32_t> offset{0};
    std::vector<std::uint8_t> fine_time;
    std::vector<std::int16_t> times;
};

using Times = std::vector<std::int16_t>;

TEST(EventTime, IsThatOfTheFullestGroupInTheTick) {
    const Batch batch({{200, 202, 198, 20, 21, 4000, 4001, 4002, 4003}});
    EXPECT_EQ(batch.fine_time[0], 200);
    EXPECT_EQ(batch.times, (Times{0, 2, -2, -180, -179, 3800, 3801, 3802, 3803}));
}

TEST(EventTime, TwoParticlesThreeNanosecondsApartAreTwo) {
    const Batch batch({{100, 99, 101, 131, 130}});
    EXPECT_EQ(batch.fine_time[0], 100);
}

TEST(EventTime, AtEitherEndOfTheTickStaysInIt) {
    const Batch batch({{-3, -2, 3}, {254, 257, 260}, {-9, -9, -9}});
    EXPECT_EQ(batch.fine_time, (std::vector<std::uint8_t>{0, 255, 0}));
    EXPECT_EQ(batch.times, (Times{-3, -2, 3, -1, 2, 5, -9, -9, -9}));
}

TEST(EventTime, WithoutHitsNearTheTickIsLeft) {
    const Batch batch({{}, {-3000, 900}, {100}});
    EXPECT_EQ(batch.fine_time, (std::vector<std::uint8_t>{7, 7, 100}));
    EXPECT_EQ(batch.times, (Times{-3000, 900, 0}));
}

TEST(EventTime, FarHitsDoNotWrap) {
    const Batch batch({{200, -32767}});
    EXPECT_EQ(batch.times[1], -32767);
}

TEST(EventTime, EveryPhaseOfTheTickIsFound) {
    for (std::int16_t phase = 0; phase < 256; ++phase) {
        const auto at = [phase](int offset) { return static_cast<std::int16_t>(phase + offset); };
        const Batch batch({{at(0), at(3), at(-3), at(100), at(101), at(-100), at(-101)}});
        EXPECT_NEAR(batch.fine_time[0], phase, 1) << phase;
    }
}

}  // namespace
}  // namespace anello::rich::event_time_test
