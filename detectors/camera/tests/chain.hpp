// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "camera/chain/node.hpp"
#include "camera/source/source.hpp"
#include "moved_clock.hpp"
#include "patience.hpp"
#include "source/sinks/udp_sink.hpp"

/// Short runs of the camera over loopback sockets: simulated boards and a node.
namespace anello::camera::whole_chain {

using Values = std::map<std::string, std::map<std::string, std::uint64_t>>;
inline constexpr std::uint32_t n_boards = 19, n_events = 150;
inline constexpr WaveformShape waveforms{.n_boards = n_boards, .n_pixels = 7, .n_gains = 2, .n_samples = 40};

/// How a test lays the chain out.
struct Layout {
    std::string name;
    std::vector<std::string> threads;
    std::uint32_t n_groups = 1, n_ports = n_boards;
    bool in_place = false;
};

inline void PrintTo(const Layout& layout, std::ostream* out) {
    *out << layout.name;
}

inline CameraNodeConfig node_config(const Layout& layout) {
    CameraNodeConfig config;
    config.n_runs = 1;
    config.backend.ports.assign(layout.n_ports, 0);
    config.backend.gro = !layout.in_place;
    config.build.shape = {.n_boards = n_boards, .max_payload_bytes = waveforms.payload_bytes()};
    config.build.window_events = 32;
    config.build.n_events = 64;
    config.build.timeout_ns = 100'000'000;
    config.build.in_place = layout.in_place;
    config.n_groups = layout.n_groups;
    config.send.integrator.n_boards = n_boards;
    config.send.integrator.n_samples = waveforms.n_samples;
    config.send.filter.fraction = 0.25;
    config.threads = pipeline::parse_layout(layout.threads, {}, camera_chain);
    return config;
}

/// For runs that must lose nothing: boards may lag for longer than a busy machine keeps front ends and node apart.
inline CameraNodeConfig patient(CameraNodeConfig config) {
    config.build.timeout_ns = anello::test::far_off_ns;
    config.build.window_events = 512;
    config.build.n_events = 1024;
    return config;
}

struct ChainResult {
    Values source, node;
    bool finished = false;
    std::vector<std::string> notices{};
};

inline Values values_of(const std::vector<CounterPage::Sample>& samples) {
    Values values;
    for (const auto& sample : samples) values[sample.block][sample.name] = sample.value;
    return values;
}

/// Sends n_events with these faults through a node of whatever kind, and stops both in order.
template <typename AnyNode>
ChainResult run_through(
    AnyNode& node, const source::FaultsConfig& faults, double rate_hz = 1500,
    const std::function<void()>& when_sent = [] {}) {
    CameraSourceConfig config;
    config.shape = waveforms;
    config.ports = node.ports();
    config.rate_hz = rate_hz;
    config.n_events = n_events;
    config.pool_events = 4;
    config.faults = faults;
    CameraPool pool(config);
    source::UdpSink sink(config.endpoints());
    CounterPage page;
    CameraSource boards(config, pool, sink, SystemClock::instance(), page);
    node.start();
    boards.start();
    boards.wait();
    when_sent();
    ChainResult result{.source = {}, .node = {}, .finished = anello::test::comes_true([&] { return node.finished(); })};
    node.stop();
    result.source = values_of(page.read());
    result.node = values_of(node.counters());
    for (Notice& notice : node.notices()) result.notices.push_back(std::move(notice.text));
    return result;
}

inline ChainResult run_chain(const CameraNodeConfig& config, const source::FaultsConfig& faults,
                             double rate_hz = 1500) {
    CameraNode node(config);
    return run_through(node, faults, rate_hz);
}

inline std::uint64_t sum(const Values& values, const std::string& prefix, const std::string& name) {
    std::uint64_t total = 0;
    for (const auto& [block, counters] : values)
        if (block.starts_with(prefix))
            if (const auto found = counters.find(name); found != counters.end()) total += found->second;
    return total;
}

/// Once so many fragments have come, time goes by fast: nobody waits for the timeouts at the end of a run.
inline void hurry_after(std::uint64_t n_fragments, const CameraNode& node, anello::test::MovedClock& clock) {
    const auto placed = [&node] { return sum(values_of(node.counters()), "build.board", "placed"); };
    EXPECT_TRUE(anello::test::comes_true([&] { return placed() == n_fragments; }));
    anello::test::comes_true([&] { return node.finished(); },
                             [&] {
                                 clock.move(anello::test::far_off_ns / 10);
                                 std::this_thread::sleep_for(std::chrono::milliseconds(1));
                             });
}

}  // namespace anello::camera::whole_chain
