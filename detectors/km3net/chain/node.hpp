// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "km3net/slices/boards.hpp"
#include "km3net/trigger/decisions.hpp"
#include "pipeline/machine_probe.hpp"
#include "pipeline/runner.hpp"

namespace anello::km3net {

inline constexpr std::array<std::string_view, 3> chain{"receive", "trigger", "store"};

struct LineThreads : pipeline::ThreadsConfig {
    LineThreads() : ThreadsConfig{.layout = {"receive", "trigger", "store"}} {}
};

struct NodeConfig {
    PageIdentity page;           ///< page of the node's counters
    std::uint64_t n_slices = 0;  ///< the node finishes after it passed on this many slices; 0: it never finishes
    receive::BackendConfig backend;
    LineConfig line;
    SliceBuilderConfig build;
    DecisionsConfig decisions;
    std::vector<pipeline::ThreadPlan> threads;
    WaitPolicy wait = WaitPolicy::sleep;
    double probe_share = 0;  ///< part of each core's time spent to measure the machine's hiccups; 0: not measured
};

/// Joins the stages receive, trigger and store and runs them, like rich::Node. The control thread calls all members.
class Node {
  public:
    /// Throws ConfigError, SystemError.
    explicit Node(const NodeConfig& config, const Clock& clock = SystemClock::instance(),
                  Threads& threads = Threads::system());
    ~Node() { stop(); }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    void start() { runner_.start(); }
    void stop() { runner_.stop(); }  ///< Drains; waits at most 10 s.
    bool running() const noexcept { return runner_.running(); }
    /// True when all expected slices have been passed on, or when the file is at its end.
    bool finished() const noexcept;

    std::vector<std::uint16_t> ports() const { return boards_.intake().ports(); }
    std::vector<CounterPage::Sample> counters() const { return page_.read(); }
    CounterPage& page() noexcept { return page_; }
    void keep_page() { runner_.keep_page(); }  ///< Call regularly: shows in the page that this thread is alive.
    pipeline::Latencies latency() const { return runner_.latency(); }
    pipeline::LatenciesOverTime latency_over_time() const { return runner_.latency_over_time(); }
    const pipeline::MachineProbe* probe() const noexcept { return probe_.get(); }  ///< null: machine not measured
    pipeline::Notices notices() { return runner_.notices(); }
    pipeline::States states() const { return runner_.states(); }
    const std::vector<Dom>& doms() const noexcept { return doms_; }
    const DatagramLog& log(std::uint32_t dom) const noexcept {
        return boards_.builder().log(dom);
    }  ///< Call only after the node has stopped.
    SliceTrigger& trigger() noexcept { return decisions_.trigger(); }

  private:
    const std::uint64_t n_slices_;
    CounterPage page_;
    const std::vector<Dom> doms_;
    Boards boards_;
    Decisions decisions_;
    std::unique_ptr<pipeline::MachineProbe> probe_;
    pipeline::Runner runner_;  ///< last member: its threads end before the objects that they use
};

}  // namespace anello::km3net
