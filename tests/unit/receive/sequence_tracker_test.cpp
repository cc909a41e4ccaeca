// SPDX-License-Identifier: Apache-2.0
#include "receive/numbers/sequence_tracker.hpp"

#include <gtest/gtest.h>

namespace anello::receive {
namespace {

constexpr std::uint32_t window = SequenceTracker::window;

TEST(SequenceTracker, CountsGapsAndTakesThemBackWhenLateOnesCome) {
    SequenceTracker tracker;
    EXPECT_EQ(tracker.accept(0, 1), Arrival::in_order);
    EXPECT_EQ(tracker.accept(5, 1), Arrival::in_order);
    EXPECT_EQ(tracker.n_lost(), 4U);
    EXPECT_EQ(tracker.accept(3, 1), Arrival::late);
    EXPECT_EQ(tracker.accept(3, 1), Arrival::duplicate);
    EXPECT_EQ(tracker.accept(5, 1), Arrival::duplicate);
    EXPECT_EQ(tracker.n_lost(), 3U);
    EXPECT_EQ(tracker.n_distinct(), 3U);
}

TEST(SequenceTracker, AMissingHeadIsLostUnlessTheReceiverCameLate) {
    SequenceTracker missing_head, late_joiner;
    missing_head.accept(100, 1);
    EXPECT_EQ(missing_head.n_lost(), 100U);
    EXPECT_EQ(missing_head.n_before_joining(), 0U);
    late_joiner.accept(1'000'000, 1);
    EXPECT_EQ(late_joiner.n_lost(), 0U);
    EXPECT_EQ(late_joiner.n_before_joining(), 1'000'000U);
    EXPECT_EQ(late_joiner.accept(999'998, 1), Arrival::late);
    EXPECT_EQ(late_joiner.n_before_joining() + late_joiner.n_lost() + late_joiner.n_distinct(), 1'000'001U);
}

TEST(SequenceTracker, NothingIsLostBeforeASourceThatWasJoined) {
    SequenceTracker tracker;
    tracker.join(100);
    EXPECT_EQ(tracker.accept(101, 1), Arrival::in_order);
    EXPECT_EQ(tracker.n_lost(), 1U);
    EXPECT_EQ(tracker.n_before_joining(), 100U);
}

TEST(SequenceTracker, WrapsWithoutANotice) {
    SequenceTracker tracker;
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(tracker.accept(0xffffffceU + i, 1), Arrival::in_order);
    EXPECT_EQ(tracker.accept(0xfffffff0U, 1), Arrival::duplicate);
    EXPECT_EQ(tracker.n_distinct(), 100U);
    EXPECT_EQ(tracker.n_lost(), 0U);
}

TEST(SequenceTracker, OneDamagedNumberMovesNothing) {
    SequenceTracker tracker;
    for (std::uint32_t i = 0; i < 100; ++i) tracker.accept(i, 1);
    EXPECT_EQ(tracker.accept(0x40000064, 1), Arrival::stray);
    EXPECT_EQ(tracker.accept(100, 1), Arrival::in_order);
    EXPECT_EQ(tracker.n_lost(), 0U);
    EXPECT_EQ(tracker.accept(0xffffffff, 1), Arrival::stray) << "before the first";
}

TEST(SequenceTracker, ALongLossIsBelievedWhenItGoesOn) {
    SequenceTracker tracker;
    tracker.accept(0, 1);
    EXPECT_EQ(tracker.accept(50'000, 1), Arrival::stray);
    EXPECT_EQ(tracker.accept(50'001, 1), Arrival::in_order);
    EXPECT_EQ(tracker.n_lost(), 50'000U);
    EXPECT_EQ(tracker.n_distinct(), 2U);
}

TEST(SequenceTracker, ASequenceThatBeginsAnewIsARestart) {
    SequenceTracker tracker;
    for (std::uint32_t i = 0; i < 2 * window; ++i) tracker.accept(i, 1);
    EXPECT_EQ(tracker.accept(0, 1), Arrival::stray);
    EXPECT_EQ(tracker.accept(1, 1), Arrival::restarted);
    EXPECT_EQ(tracker.accept(2, 1), Arrival::in_order);
    EXPECT_EQ(tracker.accept(0, 1), Arrival::late);
    EXPECT_EQ(tracker.n_distinct(), 2 * window + 3);
    EXPECT_EQ(tracker.n_lost(), 0U);
}

TEST(SequenceTracker, WhatAnEpochLostIsNotForgotten) {
    SequenceTracker tracker;
    for (const std::uint32_t sequence : {0U, 1U, 4U}) tracker.accept(sequence, 1);
    EXPECT_EQ(tracker.n_lost(), 2U);
    tracker.restart();
    for (const std::uint32_t sequence : {0U, 3U}) tracker.accept(sequence, 1);
    EXPECT_EQ(tracker.n_lost(), 4U);
    EXPECT_EQ(tracker.n_distinct(), 5U);
    tracker.restart();
    EXPECT_EQ(tracker.n_lost(), 4U);
    EXPECT_EQ(tracker.n_distinct(), 5U);
}

TEST(SequenceTracker, AnnouncementsUncoverALostTail) {
    SequenceTracker tracker;
    tracker.accept(0, 1);
    tracker.announce_next(4);
    EXPECT_EQ(tracker.n_lost(), 3U);
    tracker.announce_next(2);
    EXPECT_EQ(tracker.n_lost(), 3U);
    tracker.announce_next(4 + window);
    EXPECT_EQ(tracker.n_lost(), 3U) << "said once";
    tracker.announce_next(4 + window);
    EXPECT_EQ(tracker.n_lost(), 3U + window);
    EXPECT_EQ(tracker.accept(4 + window - 1, 1), Arrival::late);
}

TEST(SequenceTracker, StepsCountEveryNumberTheyTake) {
    SequenceTracker tracker;
    tracker.accept(0, 10);
    tracker.accept(30, 10);
    EXPECT_EQ(tracker.n_lost(), 20U);
    EXPECT_EQ(tracker.accept(10, 20), Arrival::late);
    EXPECT_EQ(tracker.accept(30, 10), Arrival::duplicate);
    EXPECT_EQ(tracker.n_distinct(), 40U);
    EXPECT_EQ(tracker.n_lost(), 0U);
}

TEST(SequenceTracker, TheWindowForgetsInOrder) {
    SequenceTracker tracker;
    for (std::uint32_t i = 0; i < 3 * window; ++i)
        if (i % 1000 != 7) tracker.accept(i, 1);
    const std::uint64_t lost = tracker.n_lost();
    EXPECT_EQ(lost, (3 * window + 992) / 1000);
    for (std::uint32_t i = 2 * window; i < 3 * window; ++i)
        EXPECT_EQ(tracker.accept(i, 1), i % 1000 == 7 ? Arrival::late : Arrival::duplicate);
}

}  // namespace
}  // namespace anello::receive
