// SPDX-License-Identifier: Apache-2.0
#include "core/counters/event_slot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/counters/copied_event.hpp"

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

/// A reader in another process copies; the writer may write at any moment of a copy.
class CopiedSlot {
  public:
    /// Event 1 is there. The copy is made in pieces, before each of which at(number of the piece, this) may write.
    explicit CopiedSlot(std::function<void(int, CopiedSlot&)> at) : at_(std::move(at)) { put(1); }

    void put(std::uint8_t number) { slot_->put("number", number, payload_of(EventSlot::max_bytes, number)); }
    std::optional<EventSlot::Event> take() {
        return take_copied([this](std::size_t offset, void* to, std::size_t n_bytes) {
            constexpr std::size_t most = 16'384;
            for (std::size_t done = 0; done < n_bytes; done += most) {
                at_(n_pieces_++, *this);
                const auto* const from = reinterpret_cast<const std::byte*>(slot_.get()) + offset + done;
                std::memcpy(static_cast<std::byte*>(to) + done, from, std::min(most, n_bytes - done));
            }
        });
    }
    int n_pieces() const { return n_pieces_; }

  private:
    const std::unique_ptr<EventSlot> slot_ = std::make_unique<EventSlot>();
    const std::function<void(int, CopiedSlot&)> at_;
    int n_pieces_ = 0;
};

TEST(EventSlot, ACopyIsOfOneEventWheneverAnotherIsWritten) {
    constexpr int n_pieces = 7;  // of a copy in whose time nothing is written, counted below
    for (int moment = 0; moment <= n_pieces; ++moment) {
        CopiedSlot slot([moment](int piece, CopiedSlot& live) {
            if (piece == moment) live.put(2);
        });
        const auto event = slot.take();
        ASSERT_TRUE(event) << moment;
        const auto number = static_cast<std::uint8_t>(event->wall_ns);
        EXPECT_EQ(number, moment < n_pieces ? 2 : 1) << moment;
        EXPECT_EQ(event->payload, payload_of(EventSlot::max_bytes, number)) << moment;
        if (moment == n_pieces) {
            EXPECT_EQ(slot.n_pieces(), n_pieces);
        }
    }
}

TEST(EventSlot, ACopyOfWhatIsWrittenAllTheTimeIsGivenUp) {
    CopiedSlot slot([](int piece, CopiedSlot& live) { live.put(static_cast<std::uint8_t>(piece)); });
    EXPECT_FALSE(slot.take());
    EXPECT_LT(slot.n_pieces(), 1000);
}

/// One writer was stopped in the midst of a write, and another was killed there.
TEST(EventSlot, ACopyOfAHalfWrittenEventIsMadeAgainOrNone) {
    const auto slot = std::make_unique<EventSlot>();
    slot->put("number", 1, payload_of(100, 1));
    const auto taken = [&slot](int n_half_written) {
        return take_copied([&](std::size_t offset, void* to, std::size_t n_bytes) {
            std::memcpy(to, reinterpret_cast<const std::byte*>(slot.get()) + offset, n_bytes);
            if (n_half_written-- > 0) *static_cast<std::byte*>(to) |= std::byte{1};  // of the number of writes
        });
    };
    EXPECT_EQ(taken(3).value().payload, payload_of(100, 1));
    EXPECT_FALSE(taken(1'000'000));
}

}  // namespace
}  // namespace anello
