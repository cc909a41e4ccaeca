// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/kept_events.hpp"

#include <gmock/gmock.h>

#include <thread>

namespace anello::camera {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PixelView seen(const std::vector<float>& charge, const std::vector<std::uint16_t>& peaks,
               const std::vector<std::uint8_t>& flags) {
    return {.charge = charge, .peak_sample = peaks, .flags = flags, .n_boards_missing = 1, .n_boards_wrong_shape = 2};
}

TEST(KeptEvents, PixelsStayWhenTheIntegratorGoesOn) {
    KeptEvents kept(2, 3);
    std::vector<float> charge{1, 2, 3};
    std::vector<std::uint16_t> peaks{4, 5, 6};
    std::vector<std::uint8_t> flags{0, 1, 2};
    ASSERT_TRUE(kept.try_give({.event_number = 7}, seen(charge, peaks, flags), {.multiplicity = 9}));
    charge = {0, 0, 0}, peaks = {0, 0, 0}, flags = {0, 0, 0};
    const KeptEvent* const taken = kept.try_take();
    ASSERT_NE(taken, nullptr);
    EXPECT_EQ(taken->event.event_number, 7U);
    EXPECT_EQ(taken->verdict.multiplicity, 9);
    EXPECT_THAT(taken->pixels.charge, ElementsAre(1, 2, 3));
    EXPECT_THAT(taken->pixels.peak_sample, ElementsAre(4, 5, 6));
    EXPECT_THAT(taken->pixels.flags, ElementsAre(0, 1, 2));
    EXPECT_EQ(taken->pixels.n_boards_missing, 1U);
    EXPECT_EQ(taken->pixels.n_boards_wrong_shape, 2U);
}

TEST(KeptEvents, WithoutRoomForPixelsThereAreNone) {
    KeptEvents kept(1, 0);
    ASSERT_TRUE(kept.try_give({}, seen({1}, {2}, {3}), {}));
    EXPECT_THAT(kept.try_take()->pixels.charge, IsEmpty());
}

TEST(KeptEvents, HasRoomAgainOnceAnEventIsReclaimed) {
    KeptEvents kept(2, 0);
    EXPECT_TRUE(kept.try_give({.event_number = 1}, {}, {}));
    EXPECT_TRUE(kept.try_give({.event_number = 2}, {}, {}));
    EXPECT_FALSE(kept.try_give({.event_number = 3}, {}, {}));
    EXPECT_EQ(kept.n_away(), 2U);
    KeptEvent* const taken = kept.try_take();
    taken->sent_ns = 5;
    EXPECT_EQ(kept.try_reclaim(), nullptr) << "the sender still has it";
    kept.give_back(*taken);
    EXPECT_FALSE(kept.try_give({.event_number = 3}, {}, {})) << "its memory is not yet the filter's again";
    const KeptEvent* const reclaimed = kept.try_reclaim();
    ASSERT_NE(reclaimed, nullptr);
    EXPECT_EQ(reclaimed->event.event_number, 1U);
    EXPECT_EQ(reclaimed->sent_ns, 5);
    EXPECT_EQ(kept.n_away(), 1U);
    EXPECT_TRUE(kept.try_give({.event_number = 3}, {}, {}));
}

TEST(KeptEvents, AllComeInOrderFromAThreadToAnotherAndBack) {
    constexpr std::uint32_t n_events = 20'000;
    KeptEvents kept(8, 1);
    std::thread sender([&] {
        for (std::uint32_t n = 0; n < n_events;) {
            KeptEvent* const taken = kept.try_take();
            if (taken == nullptr) {
                std::this_thread::yield();
                continue;
            }
            EXPECT_EQ(taken->event.event_number, n);
            EXPECT_EQ(taken->pixels.charge[0], static_cast<float>(n));
            kept.give_back(*taken);
            ++n;
        }
    });
    const std::vector<std::uint16_t> peaks(1);
    const std::vector<std::uint8_t> flags(1);
    for (std::uint32_t n_given = 0, n_back = 0; n_back < n_events;) {
        const std::vector<float> charge{static_cast<float>(n_given)};
        if (n_given < n_events && kept.try_give({.event_number = n_given}, seen(charge, peaks, flags), {})) ++n_given;
        const KeptEvent* const back = kept.try_reclaim();
        if (back == nullptr) {
            std::this_thread::yield();
            continue;
        }
        ASSERT_EQ(back->event.event_number, n_back++);
    }
    sender.join();
}

TEST(KeptEvents, LanesBetweenTheTwoKeepTheOrder) {
    KeptEvents kept(6, 0, 3);
    for (std::uint32_t n = 0; n < 6; ++n) ASSERT_TRUE(kept.try_give({.event_number = n}, {}, {}));
    EXPECT_TRUE(kept.has_given());
    EXPECT_TRUE(kept.is_empty());
    for (const std::uint32_t lane : {2U, 1U}) ASSERT_TRUE(kept.try_hand_on(lane, *kept.try_take_in(lane)));
    EXPECT_FALSE(kept.is_empty());
    EXPECT_EQ(kept.try_take(), nullptr) << "the first event is with lane 0";
    ASSERT_TRUE(kept.try_hand_on(0, *kept.try_take_in(0)));
    for (std::uint32_t n = 0; n < 3; ++n) EXPECT_EQ(kept.try_take()->event.event_number, n);
    EXPECT_EQ(kept.try_take(), nullptr);
}

}  // namespace
}  // namespace anello::camera
