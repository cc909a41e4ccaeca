// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/collector.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace anello::rich::collector_test {
namespace {

constexpr events::BatchShape shape{.max_events = 8, .max_hits = 64};
constexpr Nanoseconds start_ns = 1'000'000'000, deadline_ns = 1'000'000;
const HitPosition positions[]{{0, 0}};

/// Passes events without hits through trigger and collector, with a clock that the test advances.
struct Rig {
    struct Stamps {
        Nanoseconds sent_ns, kernel_ns;
    };
    void run(const std::vector<Stamps>& events, bool end_of_burst = false) {
        give(events, end_of_burst);
        EXPECT_EQ(collector.emit_work(), 1U);
    }
    void give(const std::vector<Stamps>& events, bool end_of_burst = false) {
        events::BatchCompletion batch{};
        ASSERT_TRUE(batches.try_take_free(batch.buffer));
        const events::BatchColumns columns = pool.columns(batch.buffer);
        batch.n_events = static_cast<std::uint32_t>(events.size());
        batch.end_of_burst = end_of_burst;
        batch.burst_origin_ns = burst_origin_ns;
        std::fill_n(columns.event_key, events.size(), 0U);
        std::fill_n(columns.fine_time, events.size(), std::uint8_t{0});
        std::fill_n(columns.hit_offset, events.size() + 1, 0U);
        for (std::size_t i = 0; i < events.size(); ++i) {
            columns.sent_ns[i] = events[i].sent_ns;
            columns.kernel_ns[i] = events[i].kernel_ns;
        }
        ASSERT_TRUE(pool.try_give(batch));
        pool.do_work(0);
    }
    std::uint64_t operator[](TriggerCounter counter) const { return collector.counters()[counter]; }

    Nanoseconds burst_origin_ns = 0;
    std::uint32_t n_batches = 4;
    DecisionWriter* writer = nullptr;
    ManualClock clock{start_ns};
    CounterPage page;
    memory::PersistentBuffers batches{{.n_buffers = n_batches, .buffer_bytes = events::batch_bytes(shape)}};
    DeciderConfig decider{.backend = Backend::cpu};  // independent of the machine's devices
    TriggerPool pool{decider, positions, shape, batches, 1, clock};
    Collector collector{pool, batches, nullptr, nullptr, writer, 0, deadline_ns, clock, page};
};

TEST(Collector, CountsDecisionsThatCameLaterThanLevelZeroWaits) {
    Rig rig;
    const Nanoseconds just_late = start_ns - deadline_ns - 1;
    rig.run({{just_late, 1}, {start_ns - deadline_ns, 1}, {0, 1}, {just_late, 0}, {start_ns, 1}});
    EXPECT_EQ(rig[TriggerCounter::deadline_misses], 1U) << "events without stamps are of unknown age";
    rig.run({{just_late, 1}, {just_late, 1}});
    EXPECT_EQ(rig[TriggerCounter::deadline_misses], 3U);
    EXPECT_EQ(rig[TriggerCounter::batches], 2U);
    EXPECT_EQ(rig[TriggerCounter::events], 7U);
    EXPECT_EQ(rig[TriggerCounter::events_with_0_rings], 7U);
    EXPECT_EQ(rig[TriggerCounter::rings] + rig[TriggerCounter::primitives], 0U);
    EXPECT_EQ(rig[TriggerCounter::cuda_batches] + rig[TriggerCounter::cuda_failures], 0U);
}

/// The latency of an event begins at its own time, which the burst's start gives. If this time is not credible, it
/// begins at its sending.
TEST(Collector, CountsFromTheEventItselfWhereItsTimeIsKnown) {
    Rig rig;
    rig.burst_origin_ns = start_ns - deadline_ns - 1;
    rig.run({{start_ns, 1}, {start_ns, 1}});  // both at timestamp 0
    EXPECT_EQ(rig[TriggerCounter::deadline_misses], 2U);
    rig.burst_origin_ns = start_ns - deadline_ns;
    rig.run({{start_ns, 1}});
    EXPECT_EQ(rig[TriggerCounter::deadline_misses], 2U);
    rig.burst_origin_ns = start_ns + 7;
    rig.run({{start_ns - deadline_ns - 1, 1}});
    EXPECT_EQ(rig[TriggerCounter::deadline_misses], 3U);
}

/// A trigger that is late makes less effort, reports it, and returns to full effort by itself.
TEST(Collector, CountsWhatWasDecidedWithHowMuchEffort) {
    Rig rig{.decider = {.deadline = {.deadline_ns = deadline_ns}}};
    rig.run({{0, start_ns}, {0, start_ns}});
    rig.run({{0, start_ns - deadline_ns / 2}});
    rig.run({{0, start_ns - 3 * deadline_ns / 4}, {0, start_ns}, {0, start_ns}});
    rig.run({{0, start_ns - deadline_ns / 2 + 1}});
    EXPECT_EQ(rig[TriggerCounter::events_in_full], 3U);
    EXPECT_EQ(rig[TriggerCounter::events_cheaper], 1U);
    EXPECT_EQ(rig[TriggerCounter::events_passed], 3U);
    EXPECT_EQ(rig[TriggerCounter::events_with_0_rings], 4U) << "nobody knows of those that passed";
    EXPECT_EQ(rig[TriggerCounter::primitives], 3U);
    EXPECT_EQ(rig[TriggerCounter::events], 7U);
}

/// A file that accepts no data does not delay the chain while there is room for copies, and only then loses copies.
TEST(Collector, BatchesGoRoundWhileAFileStandsStill) {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("anello_collector_" + std::to_string(getpid()) + ".h5");
    CounterPage page;
    DecisionWriter writer({.path = path, .waiting_events = 2 * shape.max_events}, page);
    Rig rig{.writer = &writer};
    for (int i = 0; i < 9; ++i) rig.run({{start_ns, 1}});
    EXPECT_EQ(rig.batches.n_free(), rig.n_batches);
    rig.give({{start_ns, 1}});
    EXPECT_EQ(rig.collector.emit_work(), 0U) << "a whole batch might have no room";
    EXPECT_EQ(writer.write(0), 9U);
    EXPECT_EQ(rig.collector.emit_work(), 1U);
    EXPECT_EQ(rig.batches.n_free(), rig.n_batches);
    ASSERT_TRUE(writer.close());
    EXPECT_EQ(writer.counters()[StoreCounter::events_stored], 10U);
    std::filesystem::remove(path);
}

TEST(Collector, ShowsAnEventInThePageAtMostTenTimesASecond) {
    Rig rig;
    EXPECT_FALSE(rig.page.event().take());
    rig.run({});
    EXPECT_FALSE(rig.page.event().take()) << "there was none";
    rig.run({{start_ns, 1}});
    rig.clock.advance(EventSlot::shortest_gap_ns - 1);
    rig.run({{start_ns, 1}});
    EXPECT_EQ(rig.page.event().take()->wall_ns, start_ns);
    rig.clock.advance(1);
    rig.run({{start_ns, 1}});
    const auto event = rig.page.event().take();
    EXPECT_EQ(event->wall_ns, start_ns + EventSlot::shortest_gap_ns);
    EXPECT_EQ(event->kind, "rich");
    EXPECT_EQ(event->payload.size(), sizeof(EventSnapshot));
}

TEST(Collector, GivesBatchesBackInTheirOrderAndCountsBursts) {
    Rig rig;
    EXPECT_EQ(rig.collector.emit_work(), 0U);
    rig.run({{0, 0}});
    EXPECT_EQ(rig.collector.n_batches_given_back(), 1U);
    EXPECT_EQ(rig.collector.n_bursts_ended(), 0U);
    rig.run({}, true);
    EXPECT_EQ(rig.collector.n_bursts_ended(), 1U);
    EXPECT_EQ(rig.collector.n_batches_given_back(), 2U);
    EXPECT_EQ(rig.batches.n_free(), 4U);
}

}  // namespace
}  // namespace anello::rich::collector_test
