// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "patience.hpp"
#include "rich/chain/node.hpp"
#include "rich/chain/unpackers.hpp"
#include "rich/source/simulation.hpp"
#include "rich/source/source.hpp"
#include "source/sinks/udp_sink.hpp"

/// Short runs of the RICH over loopback sockets, with simulated front ends and a node.
namespace anello::rich {

using Values = std::map<std::string, std::map<std::string, std::uint64_t>>;

inline Values values_of(const std::vector<CounterPage::Sample>& samples) {
    Values values;
    for (const auto& sample : samples) values[sample.block][sample.name] = sample.value;
    return values;
}

inline NodeConfig node_config(const std::vector<std::string>& layout) {
    NodeConfig config;
    config.n_bursts = 2;
    config.intake.backend.ports.assign(n_boards, 0);
    for (std::uint16_t board = 0; board < n_boards; ++board) config.intake.unpackers.push_back(mgp_board(board, board));
    config.intake.shape = {.max_fragments = 512, .max_hits = 8192, .max_packets = 512};
    config.intake.n_buffers = 256;
    config.build.batch = {.max_events = 128, .max_hits = 128 * 64};
    config.build.timeout_ns = anello::test::far_off_ns;
    config.trigger.in_time_window_ns = 8;
    config.trigger.primitive_by_rings = {0, 0x101, 0x102, 0x104, 0x108};
    config.n_trigger_threads = 2;
    config.threads = pipeline::parse_layout(layout, {}, rich_chain);
    return config;
}

struct ChainResult {
    Values source{}, node{};
    bool finished = false;
    std::vector<std::string> notices{};
    pipeline::States states{};
};

inline constexpr double burst_ms = 60;

/// Front ends that send two short bursts to these ports of a node.
inline RichSourceConfig source_config(const std::vector<std::uint16_t>& ports) {
    RichSourceConfig settings;
    settings.boards.clear();
    for (std::uint16_t board = 0; board < n_boards; ++board)
        settings.boards.push_back({board, "127.0.0.1", ports[board]});
    settings.rate_hz = 20'000;
    settings.burst_ms = burst_ms;
    settings.gap_ms = 5;
    settings.n_bursts = 2;
    settings.max_events_per_packet = 20;
    return settings;
}

/// Runs front ends from their first to their last packet. Returns their counters.
inline Values send(const RichSourceConfig& settings, source::UdpSink& sink) {
    RichSimulation simulation(RichSimulationConfig{});
    const EventPool pool(simulation.simulate(200), settings.format, settings.hit_times);
    CounterPage page;
    RichSource front_ends(settings, pool, sink, SystemClock::instance(), page);
    front_ends.start();
    front_ends.wait();
    return values_of(page.read());
}

/// Waits for the node's last burst, stops the node, and collects its results.
template <typename AnyNode>
ChainResult end_of(AnyNode& node) {
    ChainResult result{.finished = anello::test::comes_true([&] { return node.finished(); })};
    node.stop();
    result.node = values_of(node.counters());
    for (Notice& notice : node.notices()) result.notices.push_back(std::move(notice.text));
    result.states = node.states();
    EXPECT_THAT(result.notices, testing::Not(testing::Contains(testing::HasSubstr("draining took"))));
    return result;
}

/// Sends two short bursts with these faults through a node of any kind, and stops front ends and node in order.
template <typename AnyNode>
ChainResult run_through(
    AnyNode& node, const source::FaultsConfig& faults = {}, Format format = Format::mgp,
    const std::function<void()>& when_sent = [] {}) {
    RichSourceConfig settings = source_config(node.ports());
    settings.format = format;
    settings.faults = faults;
    source::UdpSink sink(settings.boards);
    node.start();
    const Values sent = send(settings, sink);
    when_sent();
    ChainResult result = end_of(node);
    result.source = sent;
    return result;
}

inline ChainResult run_chain(const NodeConfig& config, const source::FaultsConfig& faults = {},
                             Format format = Format::mgp) {
    Node node(config);
    return run_through(node, faults, format);
}

class BrokenDevice final : public BatchFinder {
  public:
    bool find(const HitsView&, EventRings*) noexcept override { return false; }
    std::string_view device_name() const noexcept override { return "broken"; }
};

}  // namespace anello::rich
