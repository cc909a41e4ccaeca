// SPDX-License-Identifier: Apache-2.0
// With any configuration, the counters explain every packet and every fragment.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "rich/source/simulation.hpp"
#include "rich/source/source.hpp"
#include "source/simulated_time.hpp"
#include "unit/source/capture_sink.hpp"

namespace anello::rich::conservation_test {

using namespace anello::source;
using namespace anello::source::test;
using anello::source::test::receive;

namespace {

const EventSample& sample() {
    static const EventSample events = RichSimulation(RichSimulationConfig{}).simulate(200);
    return events;
}

double share(int percent) {
    return percent / 100.0;
}

RichSourceConfig any_config() {
    RichSourceConfig config;
    config.seed = *rc::gen::arbitrary<std::uint64_t>();
    config.rate_hz = *rc::gen::inRange(1'000, 9'000'000);
    config.burst_ms = *rc::gen::inRange(1, 8) / 4.0;
    config.gap_ms = *rc::gen::inRange(0, 20);
    config.n_bursts = *rc::gen::inRange(1U, 4U);
    config.n_end_markers = *rc::gen::inRange(1U, 7U);
    config.hit_times = *rc::gen::arbitrary<bool>();
    config.mtu_bytes = *rc::gen::inRange(576U, 9'001U);
    config.max_events_per_packet = *rc::gen::inRange(0U, 100U);
    config.flush_us = *rc::gen::inRange(0, 500);
    config.paced = *rc::gen::arbitrary<bool>();
    config.faults = {.loss = share(*rc::gen::inRange(0, 21)),
                     .duplicate = share(*rc::gen::inRange(0, 21)),
                     .reorder = share(*rc::gen::inRange(0, 21)),
                     .corrupt = share(*rc::gen::inRange(0, 21)),
                     .truncate = share(*rc::gen::inRange(0, 17)),
                     .dead_board = *rc::gen::inRange(-1, 4),
                     .dead_from_burst = *rc::gen::inRange(0U, 3U)};
    return config;
}

TEST(RichSourceProperty, CountersExplainEveryPacketAndFragment) {
    EXPECT_TRUE(rc::check("sent = made - lost - dead + duplicated", [] {
        const RichSourceConfig config = any_config();
        const EventPool pool(sample(), config.format, config.hit_times);
        CaptureSink sink;
        anello::ManualClock clock(1);
        anello::CounterPage page;
        RichSource source(config, pool, sink, clock, page);
        run_in_simulated_time(source, clock, *rc::gen::inRange(1'000, 2'000'000));

        for (std::uint32_t board = 0; board < 4; ++board) {
            const auto cells = page.read();
            const auto count = [&](const std::string& name) {
                for (const auto& cell : cells)
                    if (cell.block == "source.board" + std::to_string(board) && cell.name == name) return cell.value;
                throw std::logic_error("no counter " + name);
            };
            const Received received = receive(sink.streams[board]);
            const std::uint64_t n_malformed = count("packets_corrupted_injected") + count("packets_truncated_injected");
            RC_ASSERT(received.n_bad == n_malformed);
            RC_ASSERT(received.sum.n_packets + n_malformed + count("packets_lost_injected") +
                          count("packets_dead_board") ==
                      count("packets") + count("packets_duplicated_injected"));
            RC_ASSERT(received.sum.n_events + count("fragments_corrupted_injected") +
                          count("fragments_truncated_injected") + count("fragments_lost_injected") +
                          count("fragments_dead_board") ==
                      count("fragments") + count("fragments_duplicated_injected"));
            RC_ASSERT(count("fragments") == source.counters()[GeneratorCounter::events]);
            RC_ASSERT(count("datagrams_sent") == sink.streams[board].size());
            const bool ends_dead = config.faults.dead_board == static_cast<std::int32_t>(board) &&
                                   config.faults.dead_from_burst < config.n_bursts;
            if (ends_dead) continue;
            RC_ASSERT(received.end_totals.size() == config.n_bursts * config.n_end_markers);
            RC_ASSERT(received.end_totals.back().n_events == count("fragments"));
            RC_ASSERT(received.end_totals.back().n_hits == count("hits"));
        }
    }));
}

}  // namespace
}  // namespace anello::rich::conservation_test
