// SPDX-License-Identifier: Apache-2.0
#include "memory/spsc_ring.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace anello::memory {
namespace {

TEST(SpscRing, IsFirstInFirstOutAndBounded) {
    SpscRing<int> ring(3);
    EXPECT_EQ(ring.capacity(), 4U);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.try_give(i));
    EXPECT_FALSE(ring.try_give(9));
    int item = -1;
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(ring.try_take(item));
        EXPECT_EQ(item, i);
    }
    EXPECT_FALSE(ring.try_take(item));
}

TEST(SpscRing, TwoThreadsPassEverythingInOrder) {
    constexpr std::uint64_t n_items = 200'000;
    SpscRing<std::uint64_t> ring(1024);  // where both have one core, it changes hands once for so many
    std::thread giver([&] {
        for (std::uint64_t i = 0; i < n_items;)
            if (ring.try_give(i))
                ++i;
            else
                std::this_thread::yield();
    });
    std::uint64_t expected = 0, item = 0;
    while (expected < n_items) {
        if (!ring.try_take(item)) {
            std::this_thread::yield();
            continue;
        }
        if (item != expected) break;
        ++expected;
    }
    giver.join();
    EXPECT_EQ(expected, n_items);
}

}  // namespace
}  // namespace anello::memory
