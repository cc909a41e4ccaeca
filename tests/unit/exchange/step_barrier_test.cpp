// SPDX-License-Identifier: Apache-2.0
// Readout units that keep in step: how far one may be ahead of others, and what happens where some are dead or late.
#include "exchange/event_manager/step_barrier.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>

namespace anello::exchange::test {
namespace {

using Gate = StepBarrier::Gate;
constexpr Nanoseconds now_ns = 1'000'000'000, patience_ns = 1'000'000;

/// Units and the words between them, which come when they are let through.
struct Units {
    explicit Units(std::size_t n, std::size_t n_steps = 1'000, std::uint32_t ahead = 1) {
        for (std::size_t unit = 0; unit < n; ++unit)
            all.push_back(
                std::make_unique<StepBarrier>(static_cast<std::uint16_t>(unit), n, n_steps, ahead, patience_ns));
        for (const auto& unit : all)
            for (std::size_t other = 0; other < n; ++other) unit->set_live(static_cast<std::uint16_t>(other), true);
    }
    struct OnItsWay {
        std::uint16_t from;
        StepBarrier::Word word;
    };
    void tell(std::size_t from) {
        all[from]->tell([&](const StepBarrier::Word& word) {
            on_their_way.push_back({static_cast<std::uint16_t>(from), word});
            return true;
        });
    }
    void deliver(std::size_t index) {
        const OnItsWay one = on_their_way[index];
        on_their_way.erase(on_their_way.begin() + static_cast<std::ptrdiff_t>(index));
        ASSERT_TRUE(all[one.word.to]->hear(one.from, one.word.phase, one.word.step));
        tell(one.word.to);
    }
    void deliver_all() {
        while (!on_their_way.empty()) deliver(0);
    }
    void finish(std::size_t unit, std::uint64_t step) {
        all[unit]->finish(step);
        tell(unit);
    }
    Gate gate(std::size_t unit, std::uint64_t step, Nanoseconds at_ns = now_ns) { return all[unit]->gate(step, at_ns); }

    std::vector<std::unique_ptr<StepBarrier>> all;
    std::deque<OnItsWay> on_their_way;
};

TEST(StepBarrier, AloneWaitsForItselfOnly) {
    Units units(1);
    units.finish(0, 7);
    EXPECT_EQ(units.gate(0, 8), Gate::open);
    EXPECT_EQ(units.gate(0, 9), Gate::closed);
}

RC_GTEST_PROP(StepBarrier, OpensWhenAllHaveFinishedTheStepBeforeAndNotBefore, ()) {
    const auto n = *rc::gen::inRange<std::size_t>(1, 20);
    Units units(n);
    for (std::uint64_t step = 1; step < 6; ++step) {
        const auto last = *rc::gen::inRange<std::size_t>(0, n);
        for (std::size_t unit = 0; unit < n; ++unit)
            if (unit != last) units.finish(unit, step);
        units.deliver_all();
        for (std::size_t unit = 0; unit < n; ++unit) RC_ASSERT(units.gate(unit, step + 1) == Gate::closed);
        units.finish(last, step);
        units.deliver_all();
        for (std::size_t unit = 0; unit < n; ++unit) RC_ASSERT(units.gate(unit, step + 1) == Gate::open);
    }
}

/// With words about every second step, too, no unit waits for one that does not come.
RC_GTEST_PROP(StepBarrier, ComesToItsEnd, ()) {
    const auto n = *rc::gen::inRange<std::size_t>(1, 12);
    Units units(n, 1'000, *rc::gen::inRange<std::uint32_t>(1, 12));
    std::vector<std::uint64_t> finished(n, *rc::gen::inRange<std::uint64_t>(0, 50));
    for (std::size_t unit = 0; unit < n; ++unit) units.finish(unit, finished[unit]);
    const std::uint64_t end = finished.front() + 40;
    for (int i = 0; i < 100; ++i) {
        units.deliver_all();
        for (std::size_t unit = 0; unit < n; ++unit)
            if (finished[unit] < end && units.gate(unit, finished[unit]) == Gate::open)
                units.finish(unit, ++finished[unit]);
    }
    for (const std::uint64_t one : finished) RC_ASSERT(one == end);
}

/// In any order of words, no unit is let through before all are that far.
RC_GTEST_PROP(StepBarrier, IsNeverAheadOfTheSlowest, ()) {
    const auto n = *rc::gen::inRange<std::size_t>(2, 12);
    const auto ahead = *rc::gen::inRange<std::uint32_t>(1, 9);
    Units units(n, 1'000, ahead);
    std::vector<std::uint64_t> finished(n, 0);
    for (int i = 0; i < 300; ++i) {
        const auto unit = *rc::gen::inRange<std::size_t>(0, n);
        if (units.gate(unit, finished[unit]) != Gate::closed) units.finish(unit, ++finished[unit]);
        if (units.on_their_way.empty()) continue;
        units.deliver(*rc::gen::inRange<std::size_t>(0, units.on_their_way.size()));
        const auto [least, most] = std::ranges::minmax(finished);
        RC_ASSERT(most <= least + ahead + 1);
    }
}

TEST(StepBarrier, DoesNotWaitForTheDeadAndWaitsAgainForThoseWhoReturn) {
    Units units(3);
    for (std::size_t unit : {0U, 1U}) units.all[unit]->set_live(2, false);
    for (std::size_t unit : {0U, 1U}) units.finish(unit, 5);
    units.deliver_all();
    EXPECT_EQ(units.gate(0, 6), Gate::open);
    units.all[0]->set_live(2, true);
    units.finish(0, 6);
    units.finish(1, 6);
    units.deliver_all();
    EXPECT_EQ(units.gate(0, 7), Gate::closed) << "it has said nothing yet";
    units.finish(2, 6);
    units.all[1]->set_live(2, true);
    units.tell(1);
    units.deliver_all();
    EXPECT_EQ(units.gate(0, 7), Gate::open);
}

TEST(StepBarrier, IsPatientForSoLongInARoundAndNoLonger) {
    Units units(2, 10);
    units.finish(0, 100);
    EXPECT_EQ(units.gate(0, 102, now_ns), Gate::closed);
    EXPECT_EQ(units.gate(0, 102, now_ns + patience_ns), Gate::closed);
    EXPECT_EQ(units.gate(0, 102, now_ns + patience_ns + 1), Gate::overruled);
    EXPECT_EQ(units.gate(0, 111, now_ns + patience_ns + 2), Gate::overruled) << "no time is left for this round";
    EXPECT_EQ(units.gate(0, 112, now_ns + patience_ns + 3), Gate::closed) << "the next one";
}

TEST(StepBarrier, RefusesWordsThatCannotBe) {
    Units units(5);
    StepBarrier& unit = *units.all[0];
    EXPECT_FALSE(unit.hear(4, 3, 1)) << "no such phase";
    EXPECT_FALSE(unit.hear(1, 0, 1)) << "not the one before it";
    EXPECT_FALSE(unit.hear(999, 0, 1));
    EXPECT_TRUE(unit.hear(4, 0, 1));
    EXPECT_TRUE(unit.hear(3, 1, 1));
    EXPECT_TRUE(unit.hear(1, 2, 1));
}

}  // namespace
}  // namespace anello::exchange::test
