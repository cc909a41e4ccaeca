// SPDX-License-Identifier: Apache-2.0
#include "rich/source/source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.hpp"
#include "rich/source/simulation.hpp"
#include "rich/wire/mep.hpp"
#include "rich/wire/tel62.hpp"
#include "source/selection.hpp"
#include "source/simulated_time.hpp"
#include "unit/source/capture_sink.hpp"

namespace anello::rich::source_test {

using namespace anello::source;
using namespace anello::source::test;
using anello::CounterPage;
using anello::Counters;
using anello::ManualClock;
using anello::Nanoseconds;
using anello::source::test::receive;

namespace {

const EventSample& sample() {
    static const EventSample events = RichSimulation(RichSimulationConfig{}).simulate(500);
    return events;
}

RichSourceConfig short_run() {
    RichSourceConfig config;
    config.rate_hz = 1e6;
    config.burst_ms = 5;
    config.gap_ms = 3;
    config.n_bursts = 2;
    return config;
}

/// Runs the source in simulated time.
struct WholeRun {
    explicit WholeRun(const RichSourceConfig& config, Nanoseconds step_ns = 10'000)
        : pool(sample(), config.format, config.hit_times), source(config, pool, sink, clock, page) {
        run_in_simulated_time(source, clock, step_ns);
    }
    std::uint64_t counter(const std::string& block, const std::string& name) const {
        for (const auto& cell : page.read())
            if (cell.block == block && cell.name == name) return cell.value;
        ADD_FAILURE() << "no counter " << block << '.' << name;
        return 0;
    }
    std::uint64_t of_board(std::uint32_t board, const std::string& name) const {
        return counter("source.board" + std::to_string(board), name);
    }
    EventPool pool;
    CaptureSink sink;
    ManualClock clock{1'000'000};
    CounterPage page;
    RichSource source;
};

TEST(RichSource, EndMarkersAnnounceExactlyWhatWasSent) {
    for (const bool hit_times : {true, false}) {
        RichSourceConfig config = short_run();
        config.hit_times = hit_times;
        const WholeRun run(config);
        for (std::uint32_t board = 0; board < 4; ++board) {
            const Received received = receive(run.sink.streams[board]);
            EXPECT_EQ(received.n_bad, 0U);
            EXPECT_EQ(received.start_totals.size(), 2U);
            ASSERT_EQ(received.end_totals.size(), 10U);
            EXPECT_EQ(received.start_totals.front(), anello::wire::mgp::Totals{});
            EXPECT_EQ(received.end_totals.back(), received.sum);
            EXPECT_EQ(received.start_totals.back(), received.end_totals.front());
            for (std::uint32_t i = 0; i < received.sequences.size(); ++i) ASSERT_EQ(received.sequences[i], i);
            EXPECT_EQ(run.of_board(board, "packets"), received.sum.n_packets);
            EXPECT_EQ(run.of_board(board, "fragments"), received.sum.n_events);
            EXPECT_EQ(run.of_board(board, "hits"), received.sum.n_hits);
            EXPECT_EQ(run.of_board(board, "bytes"), received.sum.n_bytes);
            EXPECT_EQ(run.of_board(board, "fragments"), run.counter("source", "events"));
            EXPECT_EQ(run.of_board(board, "datagrams_sent"), run.sink.streams[board].size());
        }
    }
}

TEST(RichSource, EveryBoardSendsEveryEventUnderTheSameKey) {
    const WholeRun run(short_run());
    const Received first = receive(run.sink.streams[0]);
    EXPECT_EQ(first.event_keys.front() >> 32, 0U);
    EXPECT_EQ(first.event_keys.back() >> 32, 1U);
    EXPECT_TRUE(std::is_sorted(first.event_keys.begin(), first.event_keys.end()));
    for (std::uint32_t board = 1; board < 4; ++board) {
        const Received other = receive(run.sink.streams[board]);
        EXPECT_EQ(other.event_keys, first.event_keys);
        EXPECT_EQ(other.times_fine, first.times_fine);
    }
}

TEST(RichSource, FragmentsCarryThePoolsHits) {
    const WholeRun run(short_run());
    const auto truth = run.source.truth();
    ASSERT_EQ(truth.size(), run.counter("source", "events"));
    for (std::size_t i = 0; i < truth.size(); ++i)
        ASSERT_EQ(truth[i].pool_index, i % sample().n_events()) << "the pool's events in turn";
    for (std::uint32_t board = 0; board < 4; ++board) {
        std::size_t event_index = 0;
        for (const auto& datagram : run.sink.streams[board]) {
            anello::wire::mgp::PacketView packet;
            ASSERT_EQ(anello::wire::mgp::parse(datagram.bytes, packet), anello::wire::Verdict::ok);
            anello::wire::mgp::EventReader events(packet);
            for (anello::wire::mgp::EventView event{}; events.next(event); ++event_index) {
                std::uint16_t channel[256];
                std::int16_t time_fine[256];
                anello::wire::mgp::unpack_timed_hits(event.hits, event.n_hits, channel, time_fine);
                std::uint32_t n_hits = 0;
                for (const SampleHit& hit : sample().hits_of(truth[event_index].pool_index)) {
                    if (hit.pmt / 488 != board) continue;
                    ASSERT_LT(n_hits, event.n_hits);
                    EXPECT_EQ(channel[n_hits], hit.pmt % 488);
                    EXPECT_NEAR(time_fine[n_hits], hit.time_fine, 4);
                    ++n_hits;
                }
                ASSERT_EQ(n_hits, event.n_hits);
            }
        }
        EXPECT_EQ(event_index, truth.size());
    }
}

TEST(RichSource, AShortRunSendsNoMoreThanItIsLikelyTo) {
    for (const double rate_hz : {2e2, 1e4, 1e6}) {
        RichSourceConfig config = short_run();
        config.rate_hz = rate_hz;
        config.dead_time_ticks = 1;
        const auto mean = static_cast<std::uint64_t>(rate_hz * 10e-3);
        EXPECT_LE(WholeRun(config).counter("source", "events"), config.likely_most_events());
        EXPECT_GE(config.likely_most_events(), mean);
        EXPECT_LE(config.likely_most_events(), 2 * mean + 30);
    }
    RichSourceConfig endless;
    EXPECT_EQ(endless.likely_most_events(), std::numeric_limits<std::uint64_t>::max());
    endless.n_bursts = std::numeric_limits<std::uint32_t>::max();
    endless.rate_hz = 1e8;
    endless.burst_ms = 1e5;
    EXPECT_GE(endless.likely_most_events(), std::uint64_t{1} << 59) << "more than the integer holds";
}

TEST(RichSource, TimesArePoissonWithDeadTime) {
    RichSourceConfig config = short_run();
    config.n_bursts = 1;
    config.burst_ms = 100;
    config.dead_time_ticks = 8;
    const WholeRun run(config);
    const Received received = receive(run.sink.streams[0]);
    const double dead_fine = 8 * 256, mean_fine = 1e3 / anello::fine_time_ns;  // 1 MHz
    double sum = 0, squares = 0;
    std::uint64_t least = ~0ULL;
    const std::size_t n = received.times_fine.size() - 1;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t gap = received.times_fine[i + 1] - received.times_fine[i];
        least = std::min(least, gap);
        sum += static_cast<double>(gap);
        squares += static_cast<double>(gap) * static_cast<double>(gap);
    }
    const double mean = sum / static_cast<double>(n), sd = std::sqrt(squares / static_cast<double>(n) - mean * mean);
    EXPECT_GE(least, 8U * 256);
    EXPECT_NEAR(mean / mean_fine, 1, 0.02);
    EXPECT_NEAR(sd / (mean_fine - dead_fine), 1, 0.03);  // the spread of an exponential is its mean
    EXPECT_LT(static_cast<double>(received.times_fine.back()) * anello::fine_time_ns, 100e6);
}

TEST(RichSource, TheSameSeedGivesTheSameBytesHoweverTheThreadRuns) {
    RichSourceConfig config = short_run();
    config.faults = {.loss = 0.1, .duplicate = 0.1, .reorder = 0.1};
    const WholeRun smooth(config, 1'000), coarse(config, 700'000);
    config.seed = 2;
    const WholeRun other(config, 1'000);
    for (std::uint32_t board = 0; board < 4; ++board) {
        auto strip = [](std::vector<CaptureSink::Captured> stream) {
            for (auto& datagram : stream) {  // send time and the checksum over it
                std::fill_n(datagram.bytes.begin() + 20, 12, std::byte{});
                datagram.sent_ns = 0;
            }
            std::vector<std::vector<std::byte>> bytes;
            for (auto& datagram : stream) bytes.push_back(std::move(datagram.bytes));
            return bytes;
        };
        EXPECT_EQ(strip(smooth.sink.streams[board]), strip(coarse.sink.streams[board]));
        EXPECT_NE(strip(smooth.sink.streams[board]), strip(other.sink.streams[board]));
    }
}

TEST(RichSource, NoPacketLeavesBeforeItsLastEventNorLongAfterItsFirst) {
    RichSourceConfig config = short_run();
    config.n_bursts = 1;
    config.rate_hz = 2e5;
    config.flush_us = 50;
    const WholeRun run(config, 1'000);
    for (const auto& stream : run.sink.streams)
        for (const auto& [bytes, sent_ns] : stream) {
            const Received packet = receive({{bytes, sent_ns}});
            if (packet.times_fine.empty()) continue;
            const auto first_ns = 1'000'000 + static_cast<double>(packet.times_fine.front()) * anello::fine_time_ns;
            const auto last_ns = 1'000'000 + static_cast<double>(packet.times_fine.back()) * anello::fine_time_ns;
            EXPECT_GE(static_cast<double>(sent_ns), last_ns);
            EXPECT_LT(last_ns - first_ns, 50'000);
            EXPECT_LE(static_cast<double>(sent_ns) - first_ns, 50'000 + 2'000);
        }
    EXPECT_LE(run.counter("source", "behind_ns_max"), 1'000U);
}

TEST(RichSource, ItSleepsUntilAPacketIsDueAndNoLonger) {
    RichSourceConfig config = short_run();
    config.rate_hz = 2e5;
    config.flush_us = 50;
    const EventPool pool(sample(), config.format, config.hit_times);
    CaptureSink sink;
    ManualClock clock{1'000'000};
    CounterPage page;
    RichSource source(config, pool, sink, clock, page);
    std::size_t n_sleeps = 0;
    while (source.running()) {
        if (source.do_work() > 0) continue;
        const Nanoseconds wait_ns = source.longest_wait_ns();
        ASSERT_GT(wait_ns, 0) << "nothing to do, and nothing to wait for";
        clock.advance(wait_ns);
        ++n_sleeps;
    }
    const std::size_t n_packets = sink.streams[0].size();
    EXPECT_LE(n_sleeps, n_packets + n_packets / 4);  // packets of all boards are due at the same time
    for (const auto& datagram : sink.streams[0]) {
        const Received packet = receive({datagram});
        if (packet.times_fine.empty() || packet.event_keys.front() >> 32 != 0) continue;  // of the first burst
        const auto first_ns = 1'000'000 + static_cast<double>(packet.times_fine.front()) * anello::fine_time_ns;
        EXPECT_LE(static_cast<double>(datagram.sent_ns) - first_ns, 50'000 + 2);
    }
}

TEST(RichSource, PacketsStayInsideTheMtuAndTheLimitOfEvents) {
    for (const std::uint32_t mtu_bytes : {576U, 1500U, 9000U}) {
        RichSourceConfig config = short_run();
        config.mtu_bytes = mtu_bytes;
        config.rate_hz = 5e6;
        config.flush_us = 1000;
        const WholeRun run(config);
        std::size_t largest = 0;
        for (const auto& datagram : run.sink.streams[0]) largest = std::max(largest, datagram.bytes.size());
        EXPECT_LE(largest, mtu_bytes - 28);
        EXPECT_GT(largest, mtu_bytes - 28 - 60);
    }
    RichSourceConfig config = short_run();
    config.max_events_per_packet = 3;
    config.n_bursts = 1;
    config.flush_us = 1000;
    const WholeRun run(config);
    EXPECT_EQ(run.of_board(0, "packets"), (run.of_board(0, "fragments") + 2) / 3);
}

TEST(RichSource, FarBehindItForgoesTimeInsteadOfSendingAFlood) {
    RichSourceConfig config = short_run();
    config.n_bursts = 1;
    config.burst_ms = 200;
    config.max_behind_ms = 1;
    const EventPool pool(sample(), config.format, config.hit_times);
    CaptureSink sink;
    ManualClock clock;
    CounterPage page;
    RichSource source(config, pool, sink, clock, page);
    source.do_work();
    clock.advance(100'000'000);  // the process is stopped for 100 ms
    for (int i = 0; i < 1'000; ++i) source.do_work();
    const std::uint64_t n_events = source.counters()[GeneratorCounter::events];
    EXPECT_NEAR(static_cast<double>(n_events), 1'000, 150);  // 1 ms at 1 MHz
    EXPECT_GT(source.counters()[GeneratorCounter::time_forgone_ns], 98'000'000U);
    EXPECT_LE(sink.largest_batch, PacketSink::max_batch);
}

TEST(RichSource, CountersExplainEveryFault) {
    RichSourceConfig config = short_run();
    config.faults = {.loss = 0.08, .duplicate = 0.07, .reorder = 0.09, .corrupt = 0.06, .truncate = 0.05};
    config.burst_ms = 20;
    const WholeRun run(config);
    for (std::uint32_t board = 0; board < 4; ++board) {
        const Received received = receive(run.sink.streams[board]);
        const auto count = [&](const char* name) { return run.of_board(board, name); };
        for (const char* name : {"packets_lost_injected", "packets_duplicated_injected", "packets_reordered_injected",
                                 "packets_corrupted_injected", "packets_truncated_injected"})
            EXPECT_GT(count(name), 0U) << name;
        EXPECT_EQ(received.n_bad, count("packets_corrupted_injected") + count("packets_truncated_injected"));
        EXPECT_EQ(received.sum.n_packets, count("packets") - count("packets_lost_injected") - received.n_bad +
                                              count("packets_duplicated_injected"));
        EXPECT_EQ(received.sum.n_events,
                  count("fragments") - count("fragments_lost_injected") - count("fragments_corrupted_injected") -
                      count("fragments_truncated_injected") + count("fragments_duplicated_injected"));
        // Totals count the packets made, also those that were withheld.
        EXPECT_EQ(received.end_totals.back().n_packets, count("packets"));
        EXPECT_EQ(received.end_totals.back().n_events, count("fragments"));
        std::uint64_t n_back = 0;
        for (std::size_t i = 1; i < received.sequences.size(); ++i)
            n_back += received.sequences[i] < received.sequences[i - 1];
        EXPECT_GT(n_back, 0U);
        EXPECT_LE(n_back, count("packets_reordered_injected"));
    }
}

TEST(RichSource, WithoutAChecksumEveryPacketIsStillWhatItSays) {
    RichSourceConfig config = short_run();
    config.checksum = false;
    const WholeRun run(config);
    const Received received = receive(run.sink.streams[3]);
    EXPECT_EQ(received.n_bad, 0U);
    EXPECT_EQ(received.end_totals.back(), received.sum);
}

TEST(RichSource, ADeadBoardIsSilentFromItsBurstOn) {
    RichSourceConfig config = short_run();
    config.faults.dead_board = 2;
    config.faults.dead_from_burst = 1;
    const WholeRun run(config);
    const Received dead = receive(run.sink.streams[2]);
    EXPECT_EQ(dead.event_keys.back() >> 32, 0U);
    EXPECT_EQ(dead.end_totals.size(), 5U);
    EXPECT_EQ(run.of_board(2, "packets"), dead.sum.n_packets + run.of_board(2, "packets_dead_board"));
    EXPECT_EQ(run.of_board(2, "fragments"), dead.sum.n_events + run.of_board(2, "fragments_dead_board"));
    EXPECT_GT(run.of_board(2, "fragments_dead_board"), 0U);
    EXPECT_EQ(run.of_board(1, "fragments_dead_board"), 0U);
}

TEST(RichSource, CountsWhatTheNetworkRefuses) {
    const RichSourceConfig config = short_run();
    const EventPool pool(sample(), config.format, config.hit_times);
    CaptureSink sink;
    sink.refuse = true;
    ManualClock clock;
    CounterPage page;
    RichSource source(config, pool, sink, clock, page);
    run_in_simulated_time(source, clock);
    std::uint64_t n_fragments = 0, n_not_sent = 0, n_sent = 0;
    for (const auto& cell : page.read()) {
        if (cell.name == "fragments") n_fragments += cell.value;
        if (cell.name == "fragments_not_sent") n_not_sent += cell.value;
        if (cell.name == "datagrams_sent") n_sent += cell.value;
    }
    EXPECT_GT(n_fragments, 0U);
    EXPECT_EQ(n_not_sent, n_fragments);
    EXPECT_EQ(n_sent, 0U);
}

TEST(RichSource, NotesTheTruthOfTheEventsThatBothEndsSelect) {
    RichSourceConfig config = short_run();
    config.truth_prescale_log2 = 3;
    config.max_truth_samples = 500;
    const WholeRun run(config);
    std::vector<std::uint64_t> expected;
    for (const std::uint64_t key : receive(run.sink.streams[0]).event_keys)
        if (selected(key, 3)) expected.push_back(key);
    ASSERT_GT(expected.size(), 600U);
    ASSERT_EQ(run.source.truth().size(), 500U);
    for (std::size_t i = 0; i < 500; ++i) EXPECT_EQ(run.source.truth()[i].event_key, expected[i]);
    EXPECT_EQ(run.counter("source", "truth_not_kept"), expected.size() - 500);
}

TEST(RichSource, JitterMovesEachBoardsTimeWithinItsBounds) {
    RichSourceConfig config = short_run();
    config.time_jitter_fine = 100;
    const WholeRun run(config);
    const Received a = receive(run.sink.streams[0]), b = receive(run.sink.streams[1]);
    ASSERT_EQ(a.times_fine.size(), b.times_fine.size());
    std::uint64_t greatest = 0;
    for (std::size_t i = 0; i < a.times_fine.size(); ++i) {
        const auto apart = static_cast<std::int64_t>(a.times_fine[i]) - static_cast<std::int64_t>(b.times_fine[i]);
        greatest = std::max(greatest, static_cast<std::uint64_t>(std::abs(apart)));
    }
    EXPECT_GT(greatest, 150U);
    EXPECT_LE(greatest, 200U);
}

TEST(RichSource, StopEndsTheBurstInOrder) {
    RichSourceConfig config = short_run();
    config.n_bursts = 0;
    config.burst_ms = 1e5;
    const EventPool pool(sample(), config.format, config.hit_times);
    CaptureSink sink;
    CounterPage page;
    RichSource source(config, pool, sink, anello::SystemClock::instance(), page);
    source.start();
    while (source.counters()[GeneratorCounter::events] == 0) std::this_thread::yield();
    EXPECT_TRUE(source.running());
    source.stop();
    EXPECT_FALSE(source.running());
    const Received received = receive(sink.streams[0]);
    ASSERT_EQ(received.end_totals.size(), 5U);
    EXPECT_EQ(received.end_totals.back(), received.sum);
    EXPECT_EQ(received.sum.n_events, source.counters()[GeneratorCounter::events]);
}

TEST(RichSource, StopBeforeStartAndStopTwiceReturn) {
    const EventPool pool(sample(), Format::mgp, true);
    CaptureSink sink;
    CounterPage page;
    RichSource source(short_run(), pool, sink, anello::SystemClock::instance(), page);
    source.stop();
    EXPECT_TRUE(sink.streams[0].empty());
    source.start();
    source.stop();
    EXPECT_GT(source.cpu_time_ns(), 0) << "its thread has ended";
    source.stop();
    EXPECT_FALSE(source.running());
}

TEST(RichSource, SendsNa62sOwnFormat) {
    namespace mep = anello::wire::mep;
    namespace tel62 = anello::wire::tel62;
    RichSourceConfig config = short_run();
    config.format = Format::mep;
    config.n_bursts = 1;
    const WholeRun run(config);
    const anello::wire::KnownSources known(mep::rich_source_id, 4);
    const auto truth = run.source.truth();
    for (std::uint32_t board = 0; board < 4; ++board) {
        std::uint32_t event_number = 0, n_ends = 0;
        std::uint64_t n_hits = 0;
        for (const auto& datagram : run.sink.streams[board]) {
            mep::PacketView packet;
            ASSERT_EQ(mep::parse(datagram.bytes, known, packet), anello::wire::Verdict::ok);
            EXPECT_EQ(packet.header.sub_source_id, board);
            mep::FragmentReader fragments(packet);
            for (mep::FragmentView fragment{}; fragments.next(fragment);) {
                tel62::Hit hits[256];
                tel62::Decoded decoded;
                ASSERT_EQ(tel62::decode(fragment.payload, static_cast<std::uint8_t>(board), fragment.timestamp_ticks,
                                        tel62::Edges::leading_only, hits, decoded),
                          anello::wire::Verdict::ok);
                EXPECT_EQ(fragment.event_number, event_number);
                if (fragment.last_of_burst) {
                    EXPECT_TRUE(decoded.is_special_trigger());
                    ++n_ends;
                    continue;
                }
                ASSERT_EQ(fragment.timestamp_ticks, static_cast<std::uint32_t>(truth[event_number].event_key));
                std::uint32_t n_expected = 0;
                for (const SampleHit& hit : sample().hits_of(truth[event_number].pool_index))
                    n_expected += hit.pmt / 488 == board;
                ASSERT_EQ(decoded.n_hits, n_expected);
                n_hits += n_expected;
                ++event_number;
            }
        }
        EXPECT_EQ(n_ends, 5U);
        EXPECT_EQ(event_number, run.of_board(board, "fragments"));
        EXPECT_EQ(n_hits, run.of_board(board, "hits"));
    }
}

TEST(RichSource, RefusesConfigurationsThatCannotWork) {
    const EventPool pool(sample(), Format::mgp, true);
    const auto refuses = [&](auto change) {
        RichSourceConfig config = short_run();
        change(config);
        CaptureSink sink;
        ManualClock clock;
        CounterPage page;
        EXPECT_THROW(RichSource(config, pool, sink, clock, page), anello::ConfigError);
    };
    refuses([](auto& c) { c.rate_hz = 0; });
    refuses([](auto& c) { c.rate_hz = 11e6; });  // 4 ticks of dead time leave 10.02 MHz
    refuses([](auto& c) { c.boards.clear(); });
    refuses([](auto& c) { c.boards[1].board = 0; });
    refuses([](auto& c) { c.boards[1].board = 4; });
    refuses([](auto& c) { c.mtu_bytes = 500; });
    refuses([](auto& c) { c.hit_times = false; });  // differs from the pool
    refuses([](auto& c) { c.format = Format::mep; });
    refuses([](auto& c) { c.faults.loss = 0.6, c.faults.corrupt = 0.6; });
    refuses([](auto& c) { c.faults.dead_board = 4; });
    refuses([](auto& c) { c.time_jitter_fine = 512; });
}

}  // namespace
}  // namespace anello::rich::source_test
