// SPDX-License-Identifier: Apache-2.0
#include "core/event_slot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace anello {
namespace {

std::vector<std::byte> payload_of(std::size_t n_bytes, std::uint8_t value) {
    return std::vector<std::byte>(n_bytes, std::byte{value});
}

TEST(EventSlot, IsEmptyAtFirst) {
    const auto slot = std::make_unique<EventSlot>();
    EXPECT_FALSE(slot->take());
    EXPECT_TRUE(slot->wants(1'700'000'000'000'000'000));
}

TEST(EventSlot, GivesBackTheLastOne) {
    const auto slot = std::make_unique<EventSlot>();
    slot->put("first", 1000, payload_of(100, 1));
    slot->put("a longer kind than fits", 2000, payload_of(13, 2));
    const auto event = slot->take();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, "a longer kind t");
    EXPECT_EQ(event->wall_ns, 2000);
    EXPECT_EQ(event->payload, payload_of(13, 2));
}

TEST(EventSlot, WantsTenASecondAtMost) {
    const auto slot = std::make_unique<EventSlot>();
    const Nanoseconds now_ns = 1'700'000'000'000'000'000;
    slot->put("", now_ns, {});
    EXPECT_FALSE(slot->wants(now_ns + 99'999'999));
    EXPECT_TRUE(slot->wants(now_ns + 100'000'000));
    EXPECT_TRUE(slot->wants(now_ns - 3'600'000'000'000)) << "the clock was put back";
}

TEST(EventSlot, TakesNothingTooLarge) {
    const auto slot = std::make_unique<EventSlot>();
    slot->put("whole", 1, payload_of(EventSlot::max_bytes, 3));
    slot->put("too large", 2, payload_of(EventSlot::max_bytes + 1, 4));
    const auto event = slot->take();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, "whole");
    EXPECT_EQ(event->payload.size(), EventSlot::max_bytes);
}

/// Each event's bytes are all its number; half of one and half of another would show.
TEST(EventSlot, NeverGivesAHalfWrittenOne) {
    const auto slot = std::make_unique<EventSlot>();
    std::atomic<bool> has_begun{false}, is_over{false};
    std::thread writer([&] {
        for (std::uint8_t i = 1; !is_over.load(); i = static_cast<std::uint8_t>(i + 1)) {
            slot->put("number", i, payload_of(std::size_t{512} + i, i));
            has_begun.store(true);
        }
    });
    while (!has_begun.load()) std::this_thread::yield();
    int n_taken = 0;
    constexpr int n_turns = 20'000, most_turns = 50'000'000;  // on a busy machine the writer may be stopped in a write
    for (int i = 0; i < n_turns || (n_taken == 0 && i < most_turns); ++i) {
        const auto event = slot->take();
        if (!event) continue;  // written all the time
        ++n_taken;
        const auto number = static_cast<std::uint8_t>(event->wall_ns);
        EXPECT_EQ(event->payload, payload_of(std::size_t{512} + number, number));
    }
    is_over.store(true);
    writer.join();
    EXPECT_GT(n_taken, 0);
}

}  // namespace
}  // namespace anello
