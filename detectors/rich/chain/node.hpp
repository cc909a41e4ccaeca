// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "pipeline/machine_probe.hpp"
#include "pipeline/runner.hpp"
#include "rich/chain/decisions.hpp"
#include "rich/chain/event_source.hpp"
#include "rich/chain/node_config.hpp"

namespace anello::rich {

/// Joins the stages receive, build, trigger, emit and store and runs them. The constructor allocates everything,
/// start() makes the threads, and stop() drains the data on their way. The control thread calls all members.
class Node {
  public:
    /// Throws ConfigError, SystemError.
    explicit Node(const NodeConfig& config, const Clock& clock = SystemClock::instance(),
                  Threads& threads = Threads::system());
    ~Node() { stop(); }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    void start() { runner_.start(); }
    /// Drains: builds, decides and emits all data that the system has received; waits at most 10 s.
    void stop() { runner_.stop(); }
    /// True when all expected bursts are decided, or when the file is at its end.
    bool finished() const noexcept;

    std::vector<std::uint16_t> ports() const { return source_->ports(); }
    std::vector<CounterPage::Sample> counters() const { return page_.read(); }
    CounterPage& page() noexcept { return page_; }
    void keep_page() { runner_.keep_page(); }  ///< Call regularly: shows in the page that this thread is alive.
    Collector& collector() noexcept { return decisions_.collector(); }
    pipeline::Latencies latency() const { return runner_.latency(); }
    pipeline::LatenciesOverTime latency_over_time() const { return runner_.latency_over_time(); }
    const pipeline::MachineProbe* probe() const noexcept { return probe_.get(); }  ///< null: machine not measured
    /// One line for each change since the last call, e.g. a board that fell silent, datagrams that the kernel dropped.
    pipeline::Notices notices() { return runner_.notices(); }
    pipeline::States states() const { return runner_.states(); }
    /// Calls use(board, its log) for each board by its position among the ports; only after the node has stopped.
    void for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use) {
        source_->for_each_sequence_log(use);
    }
    bool running() const noexcept { return runner_.running(); }

  private:
    const NodeConfig config_;
    CounterPage page_;
    RichDecisions decisions_;
    std::unique_ptr<EventSource> source_;
    std::unique_ptr<pipeline::MachineProbe> probe_;
    pipeline::Runner runner_;  ///< last member: its threads end before the objects that they use
};

}  // namespace anello::rich
