// SPDX-License-Identifier: Apache-2.0
// A readout unit alone: what it sends to whom, and the outcome of each MFP that its source gave.
#include "exchange/readout_unit.hpp"

#include <gmock/gmock.h>

#include "core/errors.hpp"
#include "unit/exchange/hand_fabric.hpp"

namespace anello::exchange::test::readout_unit_test {
namespace {

using fabric::Status;
using testing::ElementsAre;
using testing::IsEmpty;
using enum ReadoutCounter;

/// The unit of node 0; builders at nodes 1 and 2.
struct Rig {
    explicit Rig(Protocol protocol = Protocol::push, std::uint32_t n_buffers = 8, std::size_t in_flight_bytes = 1'000)
        : ring({.n_buffers = n_buffers, .buffer_bytes = 64}),
          unit(config_of(protocol, in_flight_bytes), ring, fabric, page) {
        unit.on_builder(0, true, true);
        unit.on_builder(1, true, true);
    }
    static ExchangeConfig config_of(Protocol protocol, std::size_t in_flight_bytes = 1'000) {
        ExchangeConfig config;
        config.farm = parse_roles({"em+ru", "bu", "bu"}, 3);
        config.protocol = protocol;
        config.steps_ahead = 0;
        config.in_flight_bytes = in_flight_bytes;
        config.n_credits = 2;
        return config;
    }
    void give(std::uint64_t mep) {
        std::uint32_t buffer = 0;
        ASSERT_TRUE(ring.try_take_free(buffer));
        ring.bytes(buffer)[0] = static_cast<std::byte>(mep);
        ring.give({.mep = mep, .buffer = buffer, .length_bytes = static_cast<std::uint32_t>(10 + mep)});
    }
    void assign(std::uint64_t mep, std::uint16_t builder = 0, std::uint16_t slot = 0, std::uint32_t use = 1) {
        unit.on_assigned({.mep = mep, .use = use, .slot = slot, .builder = builder});
    }
    /// Works, and returns the MEPs that were sent, negative where the unit says that it has none.
    std::vector<int> sends() {
        unit.do_work(now_ns);
        std::vector<int> meps;
        for (const HandFabric::Sent& sent : fabric.take()) {
            last.push_back(sent);
            const bool is_absent = sent.header.type == MessageType::absent;
            meps.push_back(static_cast<int>(sent.header.mep) * (is_absent ? -1 : 1));
            EXPECT_EQ(sent.payload.size(), is_absent ? 0U : 10 + sent.header.mep);
            EXPECT_TRUE(is_absent || sent.payload[0] == static_cast<std::byte>(sent.header.mep));
        }
        return meps;
    }
    void done(std::size_t i, Status status = Status::ok) {
        unit.on_done(static_cast<std::uint16_t>(last[i].to - 1), last[i].token, status);
    }
    Nanoseconds now_ns = 1'000'000'000;
    std::uint64_t operator[](ReadoutCounter counter) const { return unit.counters()[counter]; }
    /// Each MFP that was taken has one outcome; its buffer is free again.
    void expect_balance() {
        EXPECT_EQ((*this)[mfps_taken], (*this)[mfps_sent] + (*this)[mfps_lost] + (*this)[mfps_lost_to_dead_builder] +
                                           (*this)[mfps_too_late] + (*this)[mfps_before_start] +
                                           (*this)[mfps_left_at_end] + unit.n_in_flight());
        std::uint32_t n_free = 0;
        for (std::uint32_t buffer = 0; ring.try_take_free(buffer);) ++n_free;
        EXPECT_EQ(n_free + unit.n_in_flight(), ring.n_buffers());
    }

    HandFabric fabric;
    CounterPage page;
    MfpRing ring;
    ReadoutUnit unit;
    std::vector<HandFabric::Sent> last;
};

TEST(ReadoutUnit, DoesNothingBeforeItKnowsWhereItBegins) {
    Rig rig;
    rig.give(5);
    rig.assign(5);
    EXPECT_THAT(rig.sends(), IsEmpty());
    EXPECT_EQ(rig[mfps_taken], 0U);
    EXPECT_EQ(rig.ring.first_mep(), MfpRing::never);
    rig.unit.begin_at(5);
    rig.unit.begin_at(7);
    EXPECT_EQ(rig.ring.first_mep(), 5U) << "later words are ignored";
    EXPECT_THAT(rig.sends(), ElementsAre(5));
}

TEST(ReadoutUnit, SendsWhatMeetsItsAssignmentWhicheverComesFirst) {
    Rig rig;
    rig.unit.begin_at(1);
    rig.assign(1, 0, 0, 7);
    EXPECT_THAT(rig.sends(), IsEmpty());
    rig.give(1);
    rig.give(2);
    EXPECT_THAT(rig.sends(), ElementsAre(1));
    EXPECT_TRUE(rig.unit.n_in_flight() == 1 && !rig.unit.is_empty());
    rig.assign(2, 1, 1, 9);
    EXPECT_FALSE(rig.unit.is_empty());
    EXPECT_THAT(rig.sends(), ElementsAre(2));
    EXPECT_EQ(rig.last[0].to, 1);
    EXPECT_EQ(rig.last[0].header.use, 7U);
    EXPECT_EQ(rig.last[0].header.slot, 0U);
    EXPECT_EQ(rig.last[1].to, 2);
    EXPECT_EQ(rig.last[1].header.use, 9U);
    EXPECT_EQ(rig.last[1].header.slot, 1U);
    EXPECT_EQ(rig[assigned], 2U);
    EXPECT_EQ(rig[mfps_taken], 2U);
    EXPECT_EQ(rig[mfps_sent], 0U) << "the transport has yet to say so";
    for (const std::size_t i : {0U, 1U}) rig.done(i);
    EXPECT_TRUE(rig.unit.is_empty());
    EXPECT_EQ(rig[mfps_sent], 2U);
    EXPECT_EQ(rig[bytes_sent], 11U + 12U);
    rig.expect_balance();
}

/// Otherwise later messages to that node would come after all of it.
TEST(ReadoutUnit, HasNoMoreUnderWayToABuilderThanHidesItsAnswers) {
    Rig rig(Protocol::push, 8, 40);
    rig.unit.begin_at(1);
    for (std::uint64_t mep = 1; mep < 7; ++mep) rig.give(mep);
    for (const std::uint64_t mep : {1U, 3U}) {
        rig.assign(mep, 0, 0, static_cast<std::uint32_t>(mep));
        rig.assign(mep + 1, 0, 1, static_cast<std::uint32_t>(mep));
        EXPECT_THAT(rig.sends(), ElementsAre(mep, mep + 1));  // 23 bytes, then 50
    }
    rig.assign(5, 0, 0, 5);
    rig.assign(6, 1, 0, 1);
    EXPECT_THAT(rig.sends(), ElementsAre(6)) << "to the other builder";
    rig.done(0);
    EXPECT_THAT(rig.sends(), ElementsAre(5));
    rig.unit.settle();
}

/// The numbers show a builder which messages were lost on the way to it.
TEST(ReadoutUnit, NumbersItsMessagesToEachBuilderSinceItCameUp) {
    Rig rig;
    rig.unit.begin_at(1);
    for (std::uint64_t mep = 1; mep <= 4; ++mep) rig.give(mep);
    rig.assign(1, 0, 0);
    rig.assign(2, 0, 1);
    rig.assign(3, 1, 0);
    EXPECT_EQ(rig.sends().size(), 3U);
    EXPECT_EQ(rig.last[0].header.sequence, 1U);
    EXPECT_EQ(rig.last[1].header.sequence, 2U);
    EXPECT_EQ(rig.last[2].header.sequence, 1U);
    EXPECT_EQ(rig.unit.n_numbered(0), 2U);
    EXPECT_EQ(rig.unit.n_in_flight(0), 2U);
    for (const std::size_t i : {0U, 1U, 2U}) rig.done(i);
    EXPECT_EQ(rig.unit.n_in_flight(0), 0U);
    rig.unit.on_builder(0, true, true);
    EXPECT_EQ(rig.unit.n_numbered(0), 2U) << "said again";
    rig.unit.on_builder(0, false, false);
    rig.unit.on_builder(0, true, true);
    EXPECT_EQ(rig.unit.n_numbered(0), 0U);
    rig.assign(4);
    EXPECT_THAT(rig.sends(), ElementsAre(4));
    EXPECT_EQ(rig.last[3].header.sequence, 1U);
}

TEST(ReadoutUnit, SaysWhatItsSourceHasNothingOf) {
    Rig rig;
    rig.unit.begin_at(1);
    rig.assign(1, 0, 0);
    rig.assign(2, 0, 1);
    rig.assign(3, 1, 0);
    rig.give(3);
    EXPECT_THAT(rig.sends(), ElementsAre(-1, -2, 3));
    EXPECT_EQ(rig.last[0].header.sequence, 0U) << "only MFPs are numbered";
    EXPECT_EQ(rig.unit.n_in_flight(), 1U);
    rig.ring.pass(5);
    EXPECT_THAT(rig.sends(), IsEmpty());
    rig.assign(4, 1, 1);
    EXPECT_THAT(rig.sends(), ElementsAre(-4)) << "passed before it was assigned";
    rig.assign(5, 0, 0, 2);
    EXPECT_THAT(rig.sends(), IsEmpty()) << "not passed yet";
    EXPECT_EQ(rig[absences_told], 3U);
}

TEST(ReadoutUnit, WhatALostTransportOrADeadBuilderGotIsCountedApart) {
    Rig rig;
    rig.unit.begin_at(1);
    for (std::uint64_t mep = 1; mep <= 4; ++mep) rig.give(mep);
    for (std::uint16_t i = 0; i < 4; ++i) rig.assign(1U + i, i / 2, i % 2);
    EXPECT_EQ(rig.sends().size(), 4U);
    rig.done(0);
    rig.done(1, Status::lost);
    rig.done(2, Status::peer_down);
    EXPECT_EQ(rig[mfps_sent], 1U);
    EXPECT_EQ(rig[mfps_lost], 1U);
    EXPECT_EQ(rig[mfps_lost_to_dead_builder], 1U);
    EXPECT_EQ(rig[sent_to_dead_builder], 0U);
    rig.unit.on_builder(0, false, false);
    EXPECT_EQ(rig[sent_to_dead_builder], 1U) << "it died with it";
    rig.unit.on_builder(1, false, false);
    EXPECT_EQ(rig[sent_to_dead_builder], 1U) << "nothing was sent to this one";
    rig.done(3);
    EXPECT_EQ(rig[sent_to_dead_builder], 2U) << "reported after it died";
    rig.unit.on_done(0, 12345, Status::ok);  // a message without an MFP
    EXPECT_EQ(rig[mfps_sent], 2U);
    rig.expect_balance();
}

TEST(ReadoutUnit, ATransportWithoutRoomIsTriedAgain) {
    Rig rig;
    rig.unit.begin_at(1);
    rig.give(1);
    rig.assign(1);
    rig.fabric.answer = Status::busy;
    EXPECT_THAT(rig.sends(), IsEmpty());
    EXPECT_EQ(rig[waits_for_transport], 1U);
    EXPECT_EQ(rig.unit.n_numbered(0) + rig.unit.n_in_flight(0) + rig.unit.n_in_flight(), 0U);
    EXPECT_FALSE(rig.unit.is_empty()) << "it is ready to go";
    rig.fabric.answer = Status::ok;
    EXPECT_THAT(rig.sends(), ElementsAre(1));
    EXPECT_EQ(rig.last[0].header.sequence, 1U);
    rig.done(0);
    rig.expect_balance();
}

TEST(ReadoutUnit, AConnectionThatIsGoneLosesWhatWasReady) {
    Rig rig;
    rig.unit.begin_at(1);
    rig.give(1);
    rig.give(2);
    rig.assign(1, 0, 0);
    rig.assign(2, 0, 1);
    rig.fabric.answer = Status::peer_down;
    EXPECT_THAT(rig.sends(), IsEmpty());
    EXPECT_EQ(rig[mfps_lost_to_dead_builder], 2U);
    EXPECT_EQ(rig.unit.n_numbered(0), 0U);
    EXPECT_TRUE(rig.unit.is_empty());
    rig.expect_balance();
}

TEST(ReadoutUnit, WhatADeadBuilderWasToHaveIsDropped) {
    Rig rig;
    rig.unit.begin_at(1);
    rig.give(1);
    rig.give(3);
    rig.unit.do_work(rig.now_ns);
    rig.assign(1, 0, 0);
    rig.assign(4, 0, 1);
    rig.assign(3, 1, 0);
    rig.unit.on_builder(0, false, false);
    EXPECT_EQ(rig[mfps_lost_to_dead_builder], 1U);
    rig.give(4);
    EXPECT_THAT(rig.sends(), ElementsAre(3));
    EXPECT_EQ(rig[mfps_lost_to_dead_builder], 2U) << "it came later";
    rig.assign(5, 0, 1, 2);
    rig.give(5);
    EXPECT_THAT(rig.sends(), IsEmpty()) << "assigned before the manager heard of it";
    EXPECT_EQ(rig[mfps_lost_to_dead_builder], 3U);
    rig.done(0);
    rig.expect_balance();
}

TEST(ReadoutUnit, WhoseSlotWasGivenToAnotherIsTooLate) {
    Rig rig;
    rig.unit.begin_at(1);
    rig.assign(1, 0, 0, 1);
    rig.assign(2, 0, 0, 2);
    rig.give(1);
    rig.give(2);
    EXPECT_THAT(rig.sends(), ElementsAre(2));
    EXPECT_EQ(rig.last[0].header.use, 2U);
    EXPECT_EQ(rig[mfps_too_late], 1U);
    rig.done(0);
    rig.expect_balance();

    Rig ready;  // it had found its slot, and had not been sent
    ready.unit.begin_at(1);
    ready.give(1);
    ready.give(2);
    ready.fabric.answer = Status::busy;
    ready.assign(1, 0, 0, 1);
    ready.unit.do_work(ready.now_ns);
    ready.assign(2, 0, 0, 2);
    ready.fabric.answer = Status::ok;
    EXPECT_THAT(ready.sends(), ElementsAre(2));
    EXPECT_EQ(ready[mfps_too_late], 1U);
    ready.done(0);
    ready.expect_balance();
}

TEST(ReadoutUnit, WhatLiesOutsideTheRunIsNotSent) {
    Rig rig;
    rig.unit.begin_at(3);
    rig.give(2);
    for (std::uint64_t mep = 3; mep <= 6; ++mep) rig.give(mep);
    EXPECT_THAT(rig.sends(), IsEmpty());
    EXPECT_EQ(rig[mfps_before_start], 1U);
    rig.unit.on_end(5);
    EXPECT_EQ(rig.ring.end_mep(), 5U);
    EXPECT_EQ(rig[mfps_left_at_end], 2U) << "those that waited";
    rig.give(7);
    rig.assign(2, 0, 0);
    rig.assign(5, 0, 1);
    EXPECT_EQ(rig[assigned], 0U);
    EXPECT_THAT(rig.sends(), IsEmpty());
    EXPECT_EQ(rig[mfps_left_at_end], 3U) << "and those that came";
    rig.assign(3, 0, 0);
    rig.assign(4, 0, 1);
    EXPECT_THAT(rig.sends(), ElementsAre(3, 4));
    for (const std::size_t i : {0U, 1U}) rig.done(i);
    rig.expect_balance();
}

TEST(ReadoutUnit, WhatNobodyWillAskForIsDroppedWhereverItIs) {
    Rig rig(Protocol::pull);
    rig.unit.begin_at(1);
    const auto cancel = [&](std::uint64_t mep, std::uint16_t builder, std::uint16_t slot) {
        rig.unit.on_cancelled({.mep = mep, .use = 1, .slot = slot, .builder = builder});
    };
    rig.give(1);
    rig.unit.do_work(rig.now_ns);
    cancel(1, 0, 0);  // it waits to be asked for
    EXPECT_EQ(rig[mfps_lost_to_dead_builder], 1U);
    cancel(1, 0, 0);
    EXPECT_EQ(rig[mfps_lost_to_dead_builder], 1U) << "once";
    cancel(2, 0, 0);  // it is to come
    rig.give(2);
    rig.unit.do_work(rig.now_ns);
    EXPECT_EQ(rig[mfps_lost_to_dead_builder], 2U);
    rig.give(3);
    rig.fabric.answer = Status::busy;
    rig.unit.do_work(rig.now_ns);
    rig.assign(3, 0, 1);
    rig.unit.do_work(rig.now_ns);
    cancel(3, 0, 1);  // it is ready
    EXPECT_EQ(rig[mfps_lost_to_dead_builder], 3U);
    rig.fabric.answer = Status::ok;
    EXPECT_THAT(rig.sends(), IsEmpty());
    cancel(3, 2, 0);
    cancel(3, 0, 2);
    EXPECT_EQ(rig[assignments_refused], 2U) << "no such builder, no such slot";
    rig.assign(3, 2, 0);
    rig.assign(3, 0, 2);
    EXPECT_EQ(rig[assignments_refused], 4U);
    rig.expect_balance();
}

/// A builder that cannot reach this unit asks for nothing, and the unit does not know its MEPs; one that is only slow
/// will ask.
TEST(ReadoutUnit, WhatOthersAreFarBeyondIsKeptForWhoeverCanStillAsk) {
    Rig rig(Protocol::pull);
    rig.unit.begin_at(0);
    for (std::uint64_t mep = 0; mep < 5; ++mep) rig.give(mep);
    rig.unit.do_work(rig.now_ns);
    rig.assign(8, 1, 0);  // twice the farm's four slots behind 0
    EXPECT_EQ(rig[mfps_too_late], 0U);
    rig.unit.on_builder(0, false, true);
    rig.assign(9, 1, 1);
    EXPECT_EQ(rig[mfps_too_late], 2U) << "builder 0 may have been meant to ask for these";
    rig.unit.on_builder(0, true, true);
    rig.assign(12, 1, 0, 2);
    EXPECT_EQ(rig[mfps_too_late], 5U) << "or before it was connected again";
    rig.unit.on_builder(0, false, false);
    for (const std::uint64_t mep : {14U, 15U}) rig.give(mep);
    rig.unit.do_work(rig.now_ns);
    rig.assign(100, 1, 1, 2);
    EXPECT_EQ(rig[mfps_too_late], 5U) << "a builder that is gone was assigned none of these";
    rig.assign(15, 1, 0, 3);
    EXPECT_THAT(rig.sends(), testing::Contains(15));
}

/// The assignments in the layout of the manager's message.
std::vector<std::byte> round_of(const std::vector<Assignment>& entries) {
    std::vector<std::byte> bytes(entries.size() * entry_bytes);
    for (std::size_t i = 0; i < entries.size(); ++i) write(entries[i], bytes.data() + i * entry_bytes);
    return bytes;
}

/// All units go through a round in the same order, each beginning at another builder, and two of their MFPs are on
/// their way at a time.
TEST(ReadoutUnit, InShiftItSendsInItsOwnOrderAndInStep) {
    Rig rig(Protocol::shift);
    rig.unit.begin_at(1);
    rig.unit.on_round(round_of({{1, 1, 0, 0}, {2, 1, 0, 1}, {3, 1, 1, 0}, {4, 1, 1, 1}}));
    for (const std::uint64_t mep : {1U, 3U, 4U}) rig.give(mep);
    EXPECT_THAT(rig.sends(), ElementsAre(-2, 3, 4)) << "it begins at the builder behind itself, and says what it lacks";
    EXPECT_THAT(rig.sends(), IsEmpty());
    rig.done(1);
    EXPECT_THAT(rig.sends(), ElementsAre(1));
    rig.expect_balance();
}

/// Two readout units: this one is the first, and tells the second how far it is.
TEST(ReadoutUnit, InStepItIsNoFurtherAheadOfTheSlowestThanItMay) {
    ExchangeConfig config = Rig::config_of(Protocol::shift);
    config.farm = parse_roles({"em+ru", "bu", "ru"}, 3);
    config.steps_ahead = 1;
    config.n_credits = 4;
    HandFabric fabric;
    CounterPage page;
    MfpRing ring({.n_buffers = 8, .buffer_bytes = 64});
    ReadoutUnit unit(config, ring, fabric, page);
    unit.on_builder(0, true, true);
    for (const std::uint16_t readout : {0, 1}) unit.on_readout(readout, true);
    unit.begin_at(10);
    for (std::uint64_t mep = 10; mep < 14; ++mep) {
        std::uint32_t buffer = 0;
        ASSERT_TRUE(ring.try_take_free(buffer));
        ring.give({.mep = mep, .buffer = buffer, .length_bytes = 10});
        unit.on_round(round_of({{mep, 1, static_cast<std::uint16_t>(mep - 10), 0}}));
    }
    Nanoseconds now_ns = 1'000'000'000;
    std::vector<std::uint64_t> tokens;
    /// MEPs of the MFPs that were sent, and steps of the words.
    const auto sends = [&] {
        unit.do_work(now_ns);
        std::vector<std::uint64_t> meps, steps;
        for (const HandFabric::Sent& sent : fabric.take()) {
            const bool is_word = sent.header.type == MessageType::step;
            EXPECT_EQ(sent.to, is_word ? 2 : 1);
            (is_word ? steps : meps).push_back(sent.header.mep);
            if (!is_word) tokens.push_back(sent.token);
        }
        return std::pair(meps, steps);
    };
    using testing::Pair;
    const auto hear = [&](std::uint64_t step) {
        return unit.on_step(1, {.type = MessageType::step, .from = 2, .mep = step, .slot = 0});
    };
    EXPECT_THAT(sends(), Pair(IsEmpty(), ElementsAre(10))) << "the other has not said that it begins at 10";
    EXPECT_TRUE(hear(10));
    EXPECT_FALSE(unit.on_step(1, {.mep = 99, .slot = 7})) << "there is no such phase";
    EXPECT_THAT(sends(), Pair(ElementsAre(10, 11), IsEmpty()));
    unit.on_done(0, tokens[1], Status::ok);
    EXPECT_THAT(sends(), Pair(IsEmpty(), IsEmpty())) << "the first is still under way";
    unit.on_done(0, tokens[0], Status::ok);
    EXPECT_THAT(sends(), Pair(IsEmpty(), ElementsAre(12)));
    EXPECT_TRUE(hear(11));
    EXPECT_THAT(sends(), Pair(ElementsAre(12), IsEmpty()));
    now_ns += config.timeout_ns / 8 + 1;
    EXPECT_THAT(sends(), Pair(ElementsAre(13), IsEmpty())) << "it does not wait for ever";
    EXPECT_EQ(unit.counters()[ReadoutCounter::barriers_overruled], 1U);
}

TEST(ReadoutUnit, InShiftTheOthersWaitForWhatIsToCome) {
    Rig rig(Protocol::shift);
    rig.unit.begin_at(1);
    rig.unit.on_round(round_of({{1, 1, 0, 1}, {2, 1, 0, 0}}));
    EXPECT_THAT(rig.sends(), IsEmpty());
    rig.give(1);
    EXPECT_THAT(rig.sends(), ElementsAre(1));
    rig.give(2);
    rig.fabric.answer = Status::busy;
    EXPECT_THAT(rig.sends(), IsEmpty());
    rig.fabric.answer = Status::ok;
    EXPECT_THAT(rig.sends(), ElementsAre(2));
}

TEST(ReadoutUnit, InShiftARoundOfWhatCannotBeIsRefused) {
    Rig rig(Protocol::shift);
    rig.unit.begin_at(1);
    rig.unit.on_round(round_of({{1, 1, 0, 40'000}, {1, 1, 60'000, 1}, {1, 1, 0, 1}}));
    rig.give(1);
    EXPECT_THAT(rig.sends(), ElementsAre(1));
    EXPECT_EQ(rig[assignments_refused], 2U);
}

/// With a slow source a round takes longer than its first parts may be waited for.
TEST(ReadoutUnit, InShiftWhatIsToComeHoldsNobodyUpForLong) {
    Rig rig(Protocol::shift);
    rig.unit.begin_at(1);
    rig.unit.on_round(round_of({{1, 1, 0, 0}, {2, 1, 0, 1}}));  // its order is 2, 1
    rig.give(1);
    EXPECT_THAT(rig.sends(), IsEmpty());
    rig.now_ns += ExchangeConfig{}.timeout_ns / 8;
    EXPECT_THAT(rig.sends(), IsEmpty());
    ++rig.now_ns;
    EXPECT_THAT(rig.sends(), ElementsAre(1));
    EXPECT_THAT(rig.sends(), IsEmpty()) << "once";
    rig.give(2);
    EXPECT_THAT(rig.sends(), ElementsAre(2));
    rig.unit.on_round(round_of({{3, 2, 0, 0}, {4, 2, 0, 1}}));
    for (const std::size_t i : {0U, 1U}) rig.done(i);
    rig.give(3);
    EXPECT_THAT(rig.sends(), IsEmpty()) << "the next round waits anew";
    rig.give(4);
    EXPECT_THAT(rig.sends(), ElementsAre(4, 3));
    for (const std::size_t i : {2U, 3U}) rig.done(i);
    rig.expect_balance();
}

TEST(ReadoutUnit, ShiftNeedsABufferForEachBuilderAndOneMore) {
    EXPECT_THROW(Rig(Protocol::shift, 2), ConfigError);
    EXPECT_NO_THROW(Rig(Protocol::shift, 3));
    EXPECT_NO_THROW(Rig(Protocol::push, 2));
}

TEST(ReadoutUnit, WhatIsLeftAtTheEndIsCountedOnce) {
    Rig rig;
    rig.unit.begin_at(1);
    for (std::uint64_t mep = 1; mep <= 3; ++mep) rig.give(mep);
    rig.assign(1);
    EXPECT_THAT(rig.sends(), ElementsAre(1));  // on its way
    rig.fabric.answer = Status::busy;
    rig.assign(2, 1, 0);
    rig.unit.do_work(rig.now_ns);  // ready; 3 waits
    rig.give(4);                   // in the ring
    rig.unit.settle();
    rig.unit.settle();
    EXPECT_EQ(rig[mfps_taken], 4U);
    EXPECT_EQ(rig[mfps_left_at_end], 3U);
    EXPECT_EQ(rig[mfps_in_flight_at_end], 1U);
    EXPECT_EQ(rig.ring.end_mep(), 0U);
    rig.done(0);
    EXPECT_EQ(rig[mfps_sent], 0U) << "it is counted already";
    rig.expect_balance();
}

}  // namespace
}  // namespace anello::exchange::test::readout_unit_test
