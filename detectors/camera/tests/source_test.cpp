// SPDX-License-Identifier: Apache-2.0
#include "camera/source/source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "camera/tests/capture.hpp"
#include "core/errors.hpp"
#include "wire/bytes.hpp"
#include "wire/payload_pattern.hpp"

namespace anello::camera::source_test {

using namespace anello::source;
using namespace anello::camera::test;
using namespace anello::source::test;
using anello::CounterPage;
using anello::ManualClock;
using anello::Nanoseconds;
using anello::wire::load_le;

namespace {

std::vector<std::vector<std::byte>> all_bytes(const CaptureSink& sink, std::uint32_t stream) {
    std::vector<std::vector<std::byte>> bytes;
    for (const auto& captured : sink.streams[stream]) bytes.push_back(captured.bytes);
    return bytes;
}

TEST(CameraSource, EveryBoardSendsEveryTriggerOnce) {
    const CameraRun run(small_source());
    const CameraReceived first = receive_camera(run.sink.streams[0]);
    for (std::uint32_t board = 0; board < 12; ++board) {
        const CameraReceived received = receive_camera(run.sink.streams[board]);
        EXPECT_EQ(received.n_bad, 0U);
        ASSERT_EQ(received.headers.size(), 50U);
        for (std::uint32_t i = 0; i < 50; ++i) {
            const anello::wire::camera::Header& header = received.headers[i];
            EXPECT_EQ(header.board, board);
            EXPECT_EQ(header.event_number, i);
            EXPECT_EQ(header.sequence, i);
            EXPECT_EQ(header.run_id, 1U);
            EXPECT_EQ(header.timestamp_ns, first.headers[i].timestamp_ns);
            EXPECT_EQ(header.n_samples, 20);
            EXPECT_GE(received.sent_ns[i], static_cast<Nanoseconds>(header.timestamp_ns)) << "never before its time";
            EXPECT_LE(received.sent_ns[i], static_cast<Nanoseconds>(header.timestamp_ns) + 10'000);
        }
    }
    EXPECT_EQ(run.source.counters()[GeneratorCounter::events], 50U);
    EXPECT_EQ(run.source.counters()[GeneratorCounter::time_forgone_ns], 0U);
}

TEST(CameraSource, MarkersAnnounceExactlyWhatWasSent) {
    CameraSourceConfig config = small_source();
    config.first_event = 0xfffffff0;
    const CameraRun run(config);
    for (std::uint32_t board = 0; board < 12; ++board) {
        const CameraReceived received = receive_camera(run.sink.streams[board]);
        ASSERT_EQ(received.start_totals.size(), 1U);
        EXPECT_EQ(received.start_totals[0],
                  (anello::wire::camera::Totals{.first_event = config.first_event, .next_event = config.first_event}));
        ASSERT_EQ(received.end_totals.size(), config.n_end_markers);
        const anello::wire::camera::Totals expected{
            .n_fragments = 50, .n_bytes = received.n_bytes, .first_event = config.first_event, .next_event = 34};
        for (const anello::wire::camera::Totals& totals : received.end_totals) EXPECT_EQ(totals, expected);
        EXPECT_EQ(run.of_board(board, "packets"), 50U);
        EXPECT_EQ(run.of_board(board, "bytes"), received.n_bytes);
        EXPECT_EQ(run.of_board(board, "burst_markers"), 6U);
        EXPECT_EQ(run.of_board(board, "datagrams_sent"), run.sink.streams[board].size());
    }
}

TEST(CameraSource, EndMarkersAreSpreadOverMilliseconds) {
    CameraSourceConfig config = small_source();
    config.n_end_markers = 4;
    config.end_marker_spacing_ms = 2;
    const CameraRun run(config);
    const auto& stream = run.sink.streams[0];
    EXPECT_GE(stream.back().sent_ns - stream[stream.size() - 4].sent_ns, 6'000'000);
}

TEST(CameraSource, FragmentsCarryThePoolsWaveforms) {
    const CameraSourceConfig config = small_source();
    const CameraRun run(config);
    const auto truth = run.source.truth();
    ASSERT_EQ(truth.size(), 50U);
    CameraSimulation simulation(config.simulation, config.shape, config.seed);
    for (std::uint32_t i = 0; i < 50; ++i) {
        EXPECT_EQ(truth[i].event_key, std::uint64_t{1} << 32 | i);
        EXPECT_EQ(truth[i].pool_index, i % 8);
        simulation.begin_event(truth[i].pool_index);
        for (std::uint32_t board = 0; board < 12; ++board) {
            std::vector<std::byte> expected(config.shape.payload_bytes());
            simulation.write_waveforms(board, expected);
            const auto& bytes = run.sink.streams[board][i + 1].bytes;  // after the start marker
            ASSERT_TRUE(std::equal(expected.begin(), expected.end(), bytes.begin() + anello::wire::camera::header_bytes,
                                   bytes.end()));
        }
    }
}

TEST(CameraSource, OneSeedGivesTheSameBytes) {
    CameraSourceConfig config = small_source();
    config.faults = {.loss = 0.1, .duplicate = 0.1, .reorder = 0.1, .corrupt = 0.1, .truncate = 0.1};
    const CameraRun once(config, 10'000), again(config, 333'333);
    config.seed = 2;
    const CameraRun other(config);
    for (std::uint32_t board = 0; board < 12; ++board)
        EXPECT_EQ(all_bytes(once.sink, board), all_bytes(again.sink, board)) << "whenever the thread runs";
    EXPECT_NE(all_bytes(once.sink, 0), all_bytes(other.sink, 0));
}

/// One kind alone, and in the counter of its own.
TEST(CameraSource, EachFaultHappensAsOftenAsItIsAskedFor) {
    struct Kind {
        double FaultsConfig::*share;
        const char* counter;
    };
    const Kind kinds[]{{&FaultsConfig::loss, "packets_lost_injected"},
                       {&FaultsConfig::duplicate, "packets_duplicated_injected"},
                       {&FaultsConfig::reorder, "packets_reordered_injected"},
                       {&FaultsConfig::corrupt, "packets_corrupted_injected"},
                       {&FaultsConfig::truncate, "packets_truncated_injected"}};
    for (const Kind& wanted : kinds) {
        SCOPED_TRACE(wanted.counter);
        CameraSourceConfig config = small_source();
        config.faults.*wanted.share = 0.2;
        const CameraRun run(config);
        double n_wanted = 0, n_back = 0;
        for (std::uint32_t board = 0; board < config.shape.n_boards; ++board) {
            for (const Kind& kind : kinds)
                EXPECT_TRUE(&kind == &wanted || run.of_board(board, kind.counter) == 0) << kind.counter;
            n_wanted += static_cast<double>(run.of_board(board, wanted.counter));
            const auto headers = receive_camera(run.sink.streams[board]).headers;
            for (std::size_t i = 1; i < headers.size(); ++i)
                n_back += headers[i].sequence < headers[i - 1].sequence ? 1 : 0;
        }
        const double n_fragments = config.n_events * config.shape.n_boards;
        EXPECT_NEAR(n_wanted / n_fragments, 0.2, 0.06);
        if (wanted.share == &FaultsConfig::reorder) {
            EXPECT_GT(n_back, 0.6 * n_wanted) << "two of them in a row change places only once";
        } else {
            EXPECT_EQ(n_back, 0);
        }
    }
}

TEST(CameraSource, SeveralProcessesAreOneCamera) {
    CameraSourceConfig config = small_source();
    config.start_at_ns = 5'000'000;
    const CameraRun whole(config);
    for (std::uint32_t first = 0; first < 12; first += 5) {
        config.first_board = first;
        config.n_boards = std::min(5U, 12 - first);
        const CameraRun part(config, 7'000);
        for (std::uint32_t board = first; board < first + config.n_boards; ++board)
            EXPECT_EQ(all_bytes(part.sink, board - first), all_bytes(whole.sink, board));
    }
}

TEST(CameraSource, WaitsForItsStartAndCountsFromIt) {
    CameraSourceConfig config = small_source();
    config.poisson = false;
    config.start_at_ns = 5'000'500;
    const CameraRun run(config, 10'000, 1'000'000);
    EXPECT_GE(run.sink.streams[3].front().sent_ns, 5'000'500);
    EXPECT_LE(run.sink.streams[3].front().sent_ns, 5'010'500);
    const CameraReceived received = receive_camera(run.sink.streams[3]);
    for (std::uint32_t i = 0; i < 50; ++i)
        EXPECT_EQ(received.headers[i].timestamp_ns, 5'000'500U + 100'000U * (i + 1)) << "one trigger each period";
}

TEST(CameraSource, PoissonTimesHaveTheirRate) {
    CameraSourceConfig config = small_source();
    config.shape = {.n_boards = 1, .n_pixels = 1, .n_gains = 1, .n_samples = 1};
    config.ports = {6000};
    config.n_events = 20'000;
    config.pool_events = 1;
    const CameraRun run(config, 1'000'000);
    const CameraReceived received = receive_camera(run.sink.streams[0]);
    ASSERT_EQ(received.headers.size(), 20'000U);
    double squares = 0, sum = 0;
    for (std::size_t i = 1; i < received.headers.size(); ++i) {
        ASSERT_GT(received.headers[i].timestamp_ns, received.headers[i - 1].timestamp_ns);
        const auto gap = static_cast<double>(received.headers[i].timestamp_ns - received.headers[i - 1].timestamp_ns);
        sum += gap;
        squares += gap * gap;
    }
    const double mean = sum / 19'999;
    EXPECT_NEAR(mean / 100'000, 1, 0.03);
    EXPECT_NEAR(std::sqrt(squares / 19'999 - mean * mean) / mean, 1, 0.05);  // an exponential's spread is its mean
}

TEST(CameraSource, AllBoardsOfATriggerGoOutTogether) {
    const CameraRun run(small_source());
    EXPECT_GE(run.sink.largest_batch, 12U);
    for (std::size_t i = 0; i < run.sink.streams[0].size(); ++i)
        for (std::uint32_t board = 1; board < 12; ++board)
            EXPECT_EQ(run.sink.streams[board][i].sent_ns, run.sink.streams[0][i].sent_ns);
}

TEST(CameraSource, BoardsAreSpreadWhenAsked) {
    CameraSourceConfig config = small_source();
    config.burst = false;
    config.poisson = false;
    config.spread_us = 60;  // 5 us from board to board
    const CameraRun run(config, 1'000);
    for (std::uint32_t board = 0; board < 12; ++board) {
        const CameraReceived received = receive_camera(run.sink.streams[board]);
        ASSERT_EQ(received.headers.size(), 50U);
        for (std::size_t i = 0; i < 50; ++i) {
            const Nanoseconds after = received.sent_ns[i] - static_cast<Nanoseconds>(received.headers[i].timestamp_ns);
            EXPECT_GE(after, 5'000 * static_cast<int>(board));
            EXPECT_LE(after, 5'000 * static_cast<int>(board) + 2'000);
        }
    }
    EXPECT_EQ(run.source.counters()[GeneratorCounter::time_forgone_ns], 0U);
}

TEST(CameraSource, SpreadBoardsDoNotOvertakeTheNextTrigger) {
    CameraSourceConfig config = small_source();
    config.burst = false;
    config.spread_us = 1e6;  // ten thousand triggers
    config.pool_events = 1;  // each place of the pool is used again at once
    config.max_behind_ms = 0.05;
    const CameraRun run(config, 3'000);
    for (std::uint32_t board = 0; board < 12; ++board) {
        const CameraReceived received = receive_camera(run.sink.streams[board]);
        EXPECT_EQ(received.n_bad, 0U);
        ASSERT_EQ(received.headers.size(), 50U);
        for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(received.headers[i].event_number, i);
    }
    EXPECT_EQ(run.source.counters()[GeneratorCounter::time_forgone_ns], 0U);
}

TEST(CameraSource, ABatchHoldsEachPlaceOfThePoolOnce) {
    CameraSourceConfig config = small_source();
    config.paced = false;
    config.pool_events = 3;
    const CameraRun run(config);
    EXPECT_LE(run.sink.largest_batch, 36U);
    for (std::uint32_t board = 0; board < 12; ++board) {
        const CameraReceived received = receive_camera(run.sink.streams[board]);
        for (std::uint32_t i = 0; i < 50; ++i) ASSERT_EQ(received.headers[i].event_number, i);
    }
}

TEST(CameraSource, TheWholeCameraFitsOneBatch) {
    CameraSourceConfig config = small_source();
    config.shape = {};
    config.ports.assign(265, 6000);
    config.n_events = 20;
    config.pool_events = 2;
    config.poisson = false;
    config.rate_hz = 1000;
    const CameraRun run(config);
    EXPECT_EQ(run.source.counters()[GeneratorCounter::sends], 1U + 20 + config.n_end_markers);
    EXPECT_EQ(run.sink.largest_batch, 265U);
    EXPECT_EQ(receive_camera(run.sink.streams[264]).headers.size(), 20U);
    EXPECT_EQ(receive_camera(run.sink.streams[264]).payloads[0].size(), 1680U);
}

TEST(CameraSource, PatternFollowsFromTheHeaderAlone) {
    for (const std::uint32_t payload_bytes : {0U, 1U, 1000U, 8908U}) {
        CameraSourceConfig config = small_source();
        config.payload = CameraPayload::pattern;
        config.payload_bytes = payload_bytes;
        config.checksum = payload_bytes != 1000;
        const CameraRun run(config);
        for (std::uint32_t board = 0; board < 12; ++board) {
            const CameraReceived received = receive_camera(run.sink.streams[board]);
            EXPECT_EQ(received.n_bad, 0U);
            ASSERT_EQ(received.headers.size(), 50U);
            for (std::size_t i = 0; i < 50; ++i) {
                const anello::wire::camera::Header& header = received.headers[i];
                EXPECT_EQ(header.n_samples, payload_bytes == 0 ? 20 : 0);
                ASSERT_TRUE(anello::wire::has_pattern(received.payloads[i], header.board, header.event_number));
            }
        }
    }
}

TEST(CameraSource, BoardsCountersFollowTheTriggers) {
    CameraSourceConfig config = small_source();
    config.poisson = false;
    config.rate_hz = 1e9 / 1'234'567'891;
    config.first_event = 70'000;
    config.n_events = 3;
    config.counters = anello::wire::camera::CountersKind::dragon;
    const CameraRun dragon(config, 1'000'000);
    const CameraReceived lst = receive_camera(dragon.sink.streams[2]);
    const std::byte* at = lst.headers[1].counters.data();  // after 2469135782 ns
    EXPECT_EQ(load_le<std::uint16_t>(at), 2U);
    EXPECT_EQ(load_le<std::uint32_t>(at + 2), 4'691'357U);
    EXPECT_EQ(load_le<std::uint32_t>(at + 6), 2U);
    EXPECT_EQ(load_le<std::uint32_t>(at + 10), 2U);
    EXPECT_EQ(load_le<std::uint64_t>(at + 14), 328'395'059U);
    EXPECT_EQ(lst.headers[1].counters_kind, anello::wire::camera::CountersKind::dragon);

    config.counters = anello::wire::camera::CountersKind::nectarcam_20;
    config.simulation.signal_share = 1;
    const CameraRun nectarcam(config, 1'000'000);
    const CameraReceived nectar = receive_camera(nectarcam.sink.streams[2]);
    at = nectar.headers[1].counters.data();
    EXPECT_EQ(load_le<std::uint32_t>(at), 70'001U);
    EXPECT_EQ(load_le<std::uint16_t>(at + 4), 2U);
    EXPECT_EQ(load_le<std::uint16_t>(at + 6), 2U);
    EXPECT_EQ(load_le<std::uint32_t>(at + 8), 469'135'782U / 8);
    EXPECT_EQ(at[12], std::byte{469'135'782 % 8});
    EXPECT_EQ(load_le<std::uint32_t>(at + 16), 0x7f7f7f7fU);
}

/// From one trigger to the next all chips of all boards write the same number of cells.
TEST(CameraSource, FirstCellsRunThroughTheRing) {
    CameraSourceConfig config = small_source();
    config.counters = anello::wire::camera::CountersKind::dragon_drs4;
    config.n_events = 50;
    const CameraRun run(config);
    std::set<std::uint16_t> at_first;
    for (std::uint32_t board = 0; board < 12; ++board) {
        const CameraReceived received = receive_camera(run.sink.streams[board]);
        ASSERT_EQ(received.headers.size(), 50U);
        EXPECT_EQ(received.n_bad, 0U);
        const auto start_ns = load_le<std::uint64_t>(run.sink.streams[board][0].bytes.data() + 24);  // of the marker
        const auto first = anello::wire::camera::read_first_cells(received.payloads[0]);
        at_first.insert(first.begin(), first.end());
        for (std::size_t i = 1; i < 50; ++i) {
            const auto ns_of = [&](std::size_t event) { return received.headers[event].timestamp_ns - start_ns; };
            const std::uint64_t written = ns_of(i) * 128 / 125 - ns_of(0) * 128 / 125;
            const auto cells = anello::wire::camera::read_first_cells(received.payloads[i]);
            for (std::size_t chip = 0; chip < cells.size(); ++chip)
                ASSERT_EQ(cells[chip], (first[chip] + written) % 4096) << board << " " << i << " " << chip;
        }
    }
    EXPECT_GT(at_first.size(), 80U) << "96 chips, each from a place of its own";
}

TEST(CameraSource, CalibrationEventsAreInterleavedAndTagged) {
    CameraSourceConfig config = small_source();
    config.simulation.pedestal_share = 0.25;
    config.simulation.flatfield_share = 0.125;
    config.simulation.flatfield_pe = 5;
    config.n_events = 80;
    const CameraRun run(config);
    const CameraReceived received = receive_camera(run.sink.streams[0]);
    std::map<int, int> n_of_tag;
    for (std::size_t i = 0; i < received.headers.size(); ++i) {
        const std::uint8_t tag = received.headers[i].trigger_tag;
        EXPECT_EQ(tag, run.pool.truth()[i % 8].trigger_tag);
        ++n_of_tag[tag];
    }
    EXPECT_EQ(n_of_tag, (std::map<int, int>{{1, 50}, {4, 10}, {32, 20}}));
    EXPECT_EQ(received.headers[0].trigger_tag, 1) << "a run does not begin with them";
}

TEST(CameraSource, FarBehindItForgoesTime) {
    CameraSourceConfig config = small_source();
    config.max_behind_ms = 1;
    const CameraRun run(config, 50'000'000);  // the thread wakes up every 50 ms
    EXPECT_GT(run.source.counters()[GeneratorCounter::time_forgone_ns], 0U);
    EXPECT_GE(run.source.counters()[GeneratorCounter::behind_ns_max], 40'000'000U);
    const CameraReceived received = receive_camera(run.sink.streams[0]);
    EXPECT_EQ(received.headers.size(), 50U) << "all triggers, later";
}

TEST(CameraSource, StopEndsTheRunInOrder) {
    CameraSourceConfig config = small_source();
    config.n_events = 0;
    CaptureSink sink;
    ManualClock clock(1);
    CounterPage page;
    CameraPool pool(config);
    CameraSource source(config, pool, sink, clock, page);
    for (int i = 0; i < 100; ++i) {
        source.do_work();
        clock.advance(100'000);
    }
    EXPECT_GT(source.counters()[GeneratorCounter::sends], 10U) << "counted while it runs";
    source.request_stop();
    run_in_simulated_time(source, clock);
    const std::uint64_t n_events = source.counters()[GeneratorCounter::events];
    EXPECT_GT(n_events, 50U);
    const CameraReceived received = receive_camera(sink.streams[7]);
    EXPECT_EQ(received.headers.size(), n_events);
    EXPECT_EQ(received.end_totals.back().n_fragments, n_events);
}

TEST(CameraSource, ADeadBoardIsSilentAndTheOthersAreNot) {
    CameraSourceConfig config = small_source();
    config.faults.dead_board = 5;
    config.faults.dead_from_event = 20;
    const CameraRun run(config);
    const CameraReceived dead = receive_camera(run.sink.streams[5]);
    EXPECT_EQ(dead.headers.size(), 20U);
    EXPECT_TRUE(dead.end_totals.empty());
    EXPECT_EQ(run.of_board(5, "packets"), 50U);
    EXPECT_EQ(run.of_board(5, "packets_dead_board"), 30U);
    EXPECT_EQ(receive_camera(run.sink.streams[4]).headers.size(), 50U);
}

TEST(CameraSource, CountsWhatTheNetworkRefuses) {
    const CameraSourceConfig config = small_source();
    CaptureSink sink;
    sink.refuse = true;
    ManualClock clock(1);
    CounterPage page;
    CameraPool pool(config);
    CameraSource source(config, pool, sink, clock, page);
    run_in_simulated_time(source, clock);
    std::uint64_t n_not_sent = 0;
    for (const auto& cell : page.read())
        if (cell.block == "source.board9" && cell.name == "fragments_not_sent") n_not_sent = cell.value;
    EXPECT_EQ(n_not_sent, 50U);
}

TEST(CameraSource, PortsMayBeShared) {
    CameraSourceConfig config = small_source();
    config.ports = {7000, 7001};
    config.first_board = 4;
    const auto endpoints = config.endpoints();
    ASSERT_EQ(endpoints.size(), 8U);
    for (const BoardEndpoint& endpoint : endpoints) EXPECT_EQ(endpoint.port, endpoint.board < 6 ? 7000 : 7001);
}

TEST(CameraSource, RunsOnAThread) {
    CameraSourceConfig config = small_source();
    CaptureSink sink;
    CounterPage page;
    CameraPool pool(config);
    CameraSource source(config, pool, sink, anello::SystemClock::instance(), page);
    source.start();
    source.wait();
    EXPECT_FALSE(source.running());
    EXPECT_GT(source.cpu_time_ns(), 0) << "its thread has ended";
    EXPECT_EQ(receive_camera(sink.streams[11]).headers.size(), 50U);
}

TEST(CameraSourceConfig, SaysWhatIsWrongBeforeItStarts) {
    const auto refused = [](auto change) {
        CameraSourceConfig config = small_source();
        change(config);
        EXPECT_THROW(config.validate(), anello::ConfigError);
    };
    small_source().validate();
    refused([](CameraSourceConfig& config) { config.shape.n_boards = 0; });
    refused([](CameraSourceConfig& config) { config.shape.n_gains = 3; });
    refused([](CameraSourceConfig& config) { config.shape.n_samples = 400; });
    refused([](CameraSourceConfig& config) { config.payload_bytes = 100; });
    refused([](CameraSourceConfig& config) { config.first_board = 12; });
    refused([](CameraSourceConfig& config) { config.n_boards = 13; });
    refused([](CameraSourceConfig& config) { config.ports.clear(); });
    refused([](CameraSourceConfig& config) { config.ports.resize(13); });
    refused([](CameraSourceConfig& config) { config.rate_hz = 0; });
    refused([](CameraSourceConfig& config) { config.pool_events = 0; });
    refused([](CameraSourceConfig& config) { config.simulation.signal_share = 1.5; });
    refused([](CameraSourceConfig& config) { config.faults.loss = 2; });
    constexpr auto drs4 = anello::wire::camera::CountersKind::dragon_drs4;
    refused([](CameraSourceConfig& config) {
        config.counters = drs4;
        config.shape.n_pixels = 6;
    });
    refused([](CameraSourceConfig& config) {
        config.counters = drs4;
        config.payload = CameraPayload::pattern;
    });
    refused([](CameraSourceConfig& config) {
        config.counters = drs4;
        config.shape.n_samples = 318;  // 8904 bytes, and 16
    });
    refused([](CameraSourceConfig& config) { config.simulation.pedestal_share = 0.1; });  // of 8 events
    refused([](CameraSourceConfig& config) { config.simulation.flatfield_share = 1.1; });
    refused([](CameraSourceConfig& config) {
        config.simulation.pedestal_share = 0.5;
        config.payload = CameraPayload::pattern;
    });
    refused([](CameraSourceConfig& config) {
        config.simulation.pedestal_share = 0.5;
        config.simulation.flatfield_share = 0.75;
    });
    refused([](CameraSourceConfig& config) {
        config.faults.corrupt = 0.1;
        config.checksum = false;
    });
    EXPECT_THROW(anello::parse_word<CameraPayload>("bytes", "payload"), anello::ConfigError);
    EXPECT_THROW(anello::parse_word<anello::wire::camera::CountersKind>("flashcam", "counters"), anello::ConfigError);
}

}  // namespace
}  // namespace anello::camera::source_test
