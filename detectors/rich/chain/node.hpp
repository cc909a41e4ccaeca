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

/// Receive, build, trigger, emit and store, joined and run. Everything is taken in the constructor; start() makes the
/// threads; stop() lets what is on the way arrive. All members are called by the control thread.
class Node {
  public:
    /// Throws ConfigError, SystemError.
    explicit Node(const NodeConfig& config, const Clock& clock = SystemClock::instance(),
                  Threads& threads = Threads::system());
    ~Node() { stop(); }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    void start() { runner_.start(); }
    /// Drains: what the system has received is built, decided and emitted; waits at most 10 s.
    void stop() { runner_.stop(); }
    /// All expected bursts are decided, or the file is at its end.
    bool finished() const noexcept;

    std::vector<std::uint16_t> ports() const { return source_->ports(); }
    std::vector<CounterPage::Sample> counters() const { return page_.read(); }
    CounterPage& page() noexcept { return page_; }
    void keep_page() { runner_.keep_page(); }  ///< Now and then: the page shows that this thread goes on.
    Collector& collector() noexcept { return decisions_.collector(); }
    pipeline::Latencies latency() const { return runner_.latency(); }
    pipeline::LatenciesOverTime latency_over_time() const { return runner_.latency_over_time(); }
    const pipeline::MachineProbe* probe() const noexcept { return probe_.get(); }  ///< null: the machine is not watched
    /// What changed since the last call, one line each: a board that fell silent, datagrams dropped by the kernel.
    pipeline::Notices notices() { return runner_.notices(); }
    pipeline::States states() const { return runner_.states(); }
    /// Calls use(board, its log) for each board by its place among the ports, once the node has stopped.
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
    pipeline::Runner runner_;  ///< last: its threads end before what they work on
};

}  // namespace anello::rich
