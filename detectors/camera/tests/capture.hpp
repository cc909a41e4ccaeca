// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "camera/source/source.hpp"
#include "camera/wire/camera.hpp"
#include "source/simulated_time.hpp"
#include "unit/source/capture_sink.hpp"

namespace anello::camera::test {

/// Of a small camera: 12 boards, each with a port of its own.
inline CameraSourceConfig small_source() {
    CameraSourceConfig config;
    config.shape = {.n_boards = 12, .n_pixels = 7, .n_gains = 2, .n_samples = 20};
    config.ports.clear();
    for (std::uint16_t board = 0; board < 12; ++board) config.ports.push_back(static_cast<std::uint16_t>(6000 + board));
    config.rate_hz = 10'000;
    config.n_events = 50;
    config.pool_events = 8;
    config.max_truth_samples = 1000;
    return config;
}

/// A run in simulated time.
struct CameraRun {
    explicit CameraRun(const CameraSourceConfig& config, Nanoseconds step_ns = 10'000, Nanoseconds begin_ns = 1'000'000)
        : clock(begin_ns), pool(config), source(config, pool, sink, clock, page) {
        source::run_in_simulated_time(source, clock, step_ns);
    }
    std::uint64_t of_board(std::uint32_t board, const std::string& name) const {
        for (const auto& cell : page.read())
            if (cell.block == "source.board" + std::to_string(board) && cell.name == name) return cell.value;
        throw std::logic_error("no counter " + name);
    }
    ManualClock clock;
    source::test::CaptureSink sink;
    CounterPage page;
    CameraPool pool;
    CameraSource source;
};

/// What a receiver makes of one board's stream.
struct CameraReceived {
    std::vector<wire::camera::Header> headers;
    std::vector<std::vector<std::byte>> payloads;
    std::vector<Nanoseconds> sent_ns;
    std::vector<wire::camera::Totals> start_totals, end_totals;
    std::uint64_t n_bytes = 0;
    std::uint32_t n_bad = 0;
};

inline CameraReceived receive_camera(const std::vector<source::test::CaptureSink::Captured>& stream) {
    CameraReceived received;
    for (const auto& [bytes, sent_ns] : stream) {
        wire::camera::Header header;
        if (wire::camera::parse(bytes, header) != wire::Verdict::ok ||
            wire::camera::verify(bytes, header) != wire::Verdict::ok) {
            ++received.n_bad;
            continue;
        }
        if ((header.flags & wire::camera::start_of_run) != 0)
            received.start_totals.push_back(wire::camera::parse_totals(bytes));
        if ((header.flags & wire::camera::end_of_run) != 0)
            received.end_totals.push_back(wire::camera::parse_totals(bytes));
        if (header.is_marker()) continue;
        received.headers.push_back(header);
        received.payloads.emplace_back(bytes.begin() + wire::camera::header_bytes, bytes.end());
        received.sent_ns.push_back(sent_ns);
        received.n_bytes += bytes.size();
    }
    return received;
}

}  // namespace anello::camera::test
