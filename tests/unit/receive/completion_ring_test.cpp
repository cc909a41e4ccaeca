// SPDX-License-Identifier: Apache-2.0
#include "receive/boards/completion_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace anello::receive::completion_ring_test {
namespace {

/// Every field follows from the number, so that a torn completion shows.
Completion numbered(std::uint32_t number) {
    return {.stream = static_cast<std::uint16_t>(number),
            .reason = CloseReason::size,
            .sorted = true,
            .buffer = number,
            .burst_id = ~number,
            .n_fragments = number * 3,
            .n_hits = number * 5,
            .n_packets = number * 7,
            .opened_ns = Nanoseconds{number} * 11,
            .closed_ns = Nanoseconds{number} * 13};
}

bool is_whole(const Completion& c) {
    const Completion expected = numbered(c.buffer);
    return c.stream == expected.stream && c.burst_id == expected.burst_id && c.n_fragments == expected.n_fragments &&
           c.n_hits == expected.n_hits && c.n_packets == expected.n_packets && c.opened_ns == expected.opened_ns &&
           c.closed_ns == expected.closed_ns;
}

TEST(CompletionRing, GivesInOrderAndWithdrawsTheOldest) {
    CompletionRing ring(4);
    Completion taken;
    EXPECT_FALSE(ring.try_take(taken));
    EXPECT_FALSE(ring.try_withdraw_oldest(taken));
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(ring.try_give(numbered(i)));
    EXPECT_FALSE(ring.try_give(numbered(4)));
    ASSERT_TRUE(ring.try_withdraw_oldest(taken));
    EXPECT_EQ(taken.buffer, 0U);
    EXPECT_TRUE(ring.try_give(numbered(4)));
    for (std::uint32_t i = 1; i < 5; ++i) {
        ASSERT_TRUE(ring.try_take(taken));
        EXPECT_EQ(taken.buffer, i);
        EXPECT_TRUE(is_whole(taken));
    }
    EXPECT_EQ(ring.size(), 0U);
}

/// Also what the thread sanitizer looks at: the giver withdraws while the taker takes.
TEST(CompletionRing, EachCompletionGoesToExactlyOneSide) {
    constexpr std::uint32_t n_completions = 200'000;
    CompletionRing ring(4);
    std::atomic<bool> all_given{false};
    std::vector<std::uint8_t> seen(n_completions, 0);
    std::uint64_t n_torn = 0, n_disordered = 0, n_taken = 0;
    std::thread taker([&] {
        Completion taken;
        std::int64_t last = -1;
        for (bool last_round = false; !last_round;) {
            last_round = all_given.load(std::memory_order_acquire);
            while (ring.try_take(taken)) {
                n_torn += is_whole(taken) ? 0 : 1;
                n_disordered += taken.buffer > last ? 0 : 1;
                last = taken.buffer;
                if (taken.buffer < n_completions) ++seen[taken.buffer];
                ++n_taken;
            }
            std::this_thread::yield();
        }
    });
    std::vector<std::uint32_t> withdrawn;
    withdrawn.reserve(n_completions);
    std::uint64_t n_torn_here = 0;
    for (std::uint32_t i = 0; i < n_completions; ++i) {
        Completion oldest;
        while (!ring.try_give(numbered(i))) {
            if (!ring.try_withdraw_oldest(oldest)) continue;
            withdrawn.push_back(oldest.buffer);
            n_torn_here += is_whole(oldest) ? 0 : 1;
        }
    }
    all_given.store(true, std::memory_order_release);
    taker.join();
    EXPECT_EQ(n_torn + n_torn_here, 0U);
    EXPECT_EQ(n_disordered, 0U);
    EXPECT_EQ(n_taken + withdrawn.size(), n_completions);
    for (const std::uint32_t number : withdrawn) ++seen[number];
    for (const std::uint8_t times : seen) ASSERT_EQ(times, 1U);
}

}  // namespace
}  // namespace anello::receive::completion_ring_test
