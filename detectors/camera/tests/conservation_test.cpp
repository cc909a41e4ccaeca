// SPDX-License-Identifier: Apache-2.0
// For any faults that a camera's source is configured to make, its counters explain every datagram at a receiver.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <span>

#include "camera/tests/capture.hpp"

namespace anello::camera::conservation_test {

using namespace anello::source;
using namespace anello::camera::test;
using namespace anello::source::test;

namespace {

CameraSourceConfig any_camera() {
    const auto share = [](int percent) { return percent / 100.0; };
    CameraSourceConfig config;
    config.shape = {.n_boards = *rc::gen::inRange(1U, 20U),
                    .n_pixels = *rc::gen::elementOf(std::vector<std::uint32_t>{1, 2, 3, 5, 7, 7, 8}),
                    .n_gains = *rc::gen::inRange(1U, 3U),
                    .n_samples = *rc::gen::inRange(1U, 30U)};
    config.first_board = *rc::gen::inRange(0U, config.shape.n_boards);
    config.n_boards = *rc::gen::inRange(0U, config.shape.n_boards - config.first_board + 1);
    config.ports.assign(*rc::gen::inRange(1U, config.shape.n_boards + 1), 6000);
    config.seed = *rc::gen::arbitrary<std::uint64_t>();
    config.rate_hz = *rc::gen::inRange(100, 1'000'000);
    config.poisson = *rc::gen::arbitrary<bool>();
    config.burst = *rc::gen::arbitrary<bool>();
    config.spread_us = *rc::gen::inRange(0, 300);
    config.n_events = *rc::gen::inRange(1U, 200U);
    config.first_event = *rc::gen::arbitrary<std::uint32_t>();
    config.n_end_markers = *rc::gen::inRange(1U, 7U);
    config.payload = *rc::gen::arbitrary<bool>() ? CameraPayload::waveforms : CameraPayload::pattern;
    config.counters = static_cast<anello::wire::camera::CountersKind>(*rc::gen::inRange(0, 4));
    if (config.payload == CameraPayload::waveforms && config.shape.n_pixels == 7)
        config.counters = anello::wire::camera::CountersKind::dragon_drs4;
    config.pool_events = *rc::gen::inRange(1U, 6U);
    config.paced = *rc::gen::arbitrary<bool>();
    config.faults = {.loss = share(*rc::gen::inRange(0, 21)),
                     .duplicate = share(*rc::gen::inRange(0, 21)),
                     .reorder = share(*rc::gen::inRange(0, 21)),
                     .corrupt = share(*rc::gen::inRange(0, 21)),
                     .truncate = share(*rc::gen::inRange(0, 17)),
                     .dead_board = *rc::gen::inRange(-1, static_cast<int>(config.shape.n_boards)),
                     .dead_from_event = *rc::gen::inRange<std::uint64_t>(0, 200)};
    return config;
}

TEST(CameraSourceProperty, CountersExplainEveryDatagram) {
    EXPECT_TRUE(rc::check("sent = made - lost - dead + duplicated", [] {
        const CameraSourceConfig config = any_camera();
        const CameraRun run(config, *rc::gen::inRange(1'000, 2'000'000));
        RC_ASSERT(run.source.counters()[GeneratorCounter::events] == config.n_events);
        for (std::uint32_t stream = 0; stream < config.n_own_boards(); ++stream) {
            const std::uint32_t board = config.first_board + stream;
            const auto count = [&](const char* name) { return run.of_board(board, name); };
            const CameraReceived received = receive_camera(run.sink.streams[stream]);
            const std::uint64_t n_malformed = count("packets_corrupted_injected") + count("packets_truncated_injected");
            RC_ASSERT(received.n_bad == n_malformed);
            RC_ASSERT(received.headers.size() + n_malformed + count("packets_lost_injected") +
                          count("packets_dead_board") ==
                      count("packets") + count("packets_duplicated_injected"));
            RC_ASSERT(count("packets") == config.n_events);
            RC_ASSERT(count("datagrams_sent") == run.sink.streams[stream].size());
            for (const auto& header : received.headers) {
                RC_ASSERT(header.board == board);
                RC_ASSERT(header.event_number == config.first_event + header.sequence);
            }
            if (config.faults.dead_board == static_cast<std::int32_t>(board) &&
                config.faults.dead_from_event <= config.n_events)
                continue;
            RC_ASSERT(received.end_totals.size() == config.n_end_markers);
            RC_ASSERT(received.end_totals.back().n_fragments == config.n_events);
            RC_ASSERT(received.end_totals.back().n_bytes == count("bytes"));
        }
    }));
}

TEST(CameraSourceProperty, PayloadsAreThoseOfTheEventWhateverTheFaults) {
    EXPECT_TRUE(rc::check("waveforms belong to their event", [] {
        CameraSourceConfig config = any_camera();
        config.payload = CameraPayload::waveforms;
        const CameraRun run(config);
        CameraSimulation simulation(config.simulation, config.shape, config.seed);
        std::vector<std::byte> expected(config.shape.payload_bytes());
        const CameraReceived received = receive_camera(run.sink.streams[0]);
        for (std::size_t i = 0; i < received.headers.size(); ++i) {
            simulation.begin_event(received.headers[i].sequence % config.pool_events);
            simulation.write_waveforms(config.first_board, expected);
            const auto found = std::span(received.payloads[i]);
            RC_ASSERT(found.size() == received.headers[i].payload_bytes);
            RC_ASSERT(std::ranges::equal(found.first(received.headers[i].waveform_bytes()), expected));
        }
    }));
}

}  // namespace
}  // namespace anello::camera::conservation_test
