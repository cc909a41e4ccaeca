// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "rich/source/simulation.hpp"
#include "rich/source/source.hpp"
#include "source/simulated_time.hpp"
#include "unit/source/capture_sink.hpp"
#include "unit/source/sent_log_check.hpp"

/// Checksums fix the boards' datagrams for a seed, with send times and markers: files, measurements and tests of other
/// programs rely on getting the same datagrams again. If these numbers change, the simulated front ends of every user
/// send other data.
namespace anello::rich::sent_bytes_test {

using source::test::CaptureSink;
using source::test::digest_of;

namespace {

std::vector<std::uint32_t> digests(const RichSourceConfig& config) {
    static const EventSample events = RichSimulation(RichSimulationConfig{}).simulate(500);
    const EventPool pool(events, config.format, config.hit_times);
    CaptureSink sink;
    ManualClock clock{1'000'000};
    CounterPage page;
    RichSource source(config, pool, sink, clock, page);
    source::run_in_simulated_time(source, clock);
    std::vector<std::uint32_t> of_boards;
    for (std::size_t stream = 0; stream < config.boards.size(); ++stream)
        of_boards.push_back(digest_of(sink.streams[stream]));
    return of_boards;
}

RichSourceConfig two_bursts() {
    RichSourceConfig config;
    config.rate_hz = 1e6;
    config.burst_ms = 5;
    config.gap_ms = 3;
    config.n_bursts = 2;
    return config;
}

TEST(RichSentBytes, OfMgp) {
    EXPECT_EQ(digests(two_bursts()), (std::vector<std::uint32_t>{0xa86edb30, 0x10c09874, 0x54caa853, 0x2d69cc60}));
}

TEST(RichSentBytes, OfMgpWithEveryFault) {
    RichSourceConfig config = two_bursts();
    config.faults = source::test::all_faults;
    config.faults.dead_board = 2;
    EXPECT_EQ(digests(config), (std::vector<std::uint32_t>{0xc93de5fd, 0x20f15591, 0x1e2ab0a8, 0x8e670bc9}));
}

TEST(RichSentBytes, OfPackedHitsWithJitterAsFastAsItGoes) {
    RichSourceConfig config = two_bursts();
    config.hit_times = false;
    config.checksum = false;
    config.time_jitter_fine = 100;
    config.flush_us = 1e6;
    config.paced = false;
    config.boards = {{3, "127.0.0.1", 1}, {1, "127.0.0.1", 2}};
    EXPECT_EQ(digests(config), (std::vector<std::uint32_t>{0x17a2ea99, 0x72fd3d7a}));
}

TEST(RichSentBytes, OfMepWithFaults) {
    RichSourceConfig config = two_bursts();
    config.format = Format::mep;
    config.faults = source::test::all_faults;
    config.max_events_per_packet = 20;
    EXPECT_EQ(digests(config), (std::vector<std::uint32_t>{0x09b82e3c, 0xcd6c18a8, 0x13857419, 0x88b3e0ab}));
}

}  // namespace
}  // namespace anello::rich::sent_bytes_test
