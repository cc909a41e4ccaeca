// SPDX-License-Identifier: Apache-2.0
#include "source/sent_log.hpp"

#include <gtest/gtest.h>

#include "rich/source/simulation.hpp"
#include "rich/source/source.hpp"
#include "source/simulated_time.hpp"
#include "unit/source/capture_sink.hpp"
#include "unit/source/sent_log_check.hpp"

namespace anello::rich::sent_log_test {

using namespace anello::source;
using namespace anello::source::test;
using anello::source::test::receive;

namespace {

const EventSample& sample() {
    static const EventSample events = RichSimulation(RichSimulationConfig{}).simulate(500);
    return events;
}

RichSourceConfig short_run(Format format) {
    RichSourceConfig config;
    config.format = format;
    config.rate_hz = 1e6;
    config.burst_ms = 5;
    config.gap_ms = 3;
    config.n_bursts = 2;
    return config;
}

struct RichRun {
    explicit RichRun(const RichSourceConfig& config, bool refuse = false)
        : pool(sample(), config.format, config.hit_times), source(config, pool, sink, clock, page) {
        sink.refuse = refuse;
        run_in_simulated_time(source, clock, 10'000);
    }
    EventPool pool;
    CaptureSink sink;
    anello::ManualClock clock{1'000'000};
    anello::CounterPage page;
    RichSource source;
};

TEST(SentLog, OfMgpNamesEveryPacket) {
    RichSourceConfig config = short_run(Format::mgp);
    config.checksum = true;
    config.faults = all_faults;
    config.faults.dead_board = 2;
    const RichRun run(config);
    for (std::size_t board = 0; board < 4; ++board) {
        SCOPED_TRACE(board);
        expect_whole(run.source.sent_log(board), receive(run.sink.streams[board]).sequences);
        EXPECT_GT(n_withheld(run.source.sent_log(board), Withheld::lost_on_purpose), 0U);
        EXPECT_GT(n_withheld(run.source.sent_log(board), Withheld::corrupted_on_purpose), 0U);
        EXPECT_GT(n_withheld(run.source.sent_log(board), Withheld::truncated_on_purpose), 0U);
        EXPECT_EQ(n_withheld(run.source.sent_log(board), Withheld::board_dead) > 0, board == 2);
    }
}

TEST(SentLog, OfMepCountsEventsByBurst) {
    RichSourceConfig config = short_run(Format::mep);
    config.faults.loss = 0.1;
    const RichRun run(config);
    const SentLog& log = run.source.sent_log(1);
    ASSERT_EQ(log.made.ranges().size(), 2U);
    EXPECT_EQ(log.made.ranges()[0].begin, 0U);
    EXPECT_EQ(log.made.ranges()[1].begin, 0U) << "each burst counts anew";
    EXPECT_EQ(size_of(log.made), run.source.counters()[GeneratorCounter::events]);
    std::uint64_t n_lost = 0;
    for (const auto& cell : run.page.read())
        if (cell.block == "source.board1" && cell.name == "fragments_lost_injected") n_lost = cell.value;
    EXPECT_GT(n_lost, 0U);
    EXPECT_EQ(n_withheld(log, Withheld::lost_on_purpose), n_lost);
}

TEST(SentLog, NamesWhatTheSystemRefuses) {
    for (const Format format : {Format::mgp, Format::mep}) {
        const RichRun run(short_run(format), true);
        const SentLog& log = run.source.sent_log(0);
        EXPECT_EQ(n_withheld(log, Withheld::refused_by_system), size_of(log.made));
        EXPECT_GT(size_of(log.made), 0U);
    }
}

}  // namespace
}  // namespace anello::rich::sent_log_test
