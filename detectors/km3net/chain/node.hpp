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
    PageIdentity page;           ///< of its counters
    std::uint64_t n_slices = 0;  ///< the node finishes after as many were passed on; 0: never by itself
    receive::BackendConfig backend;
    LineConfig line;
    SliceBuilderConfig build;
    DecisionsConfig decisions;
    std::vector<pipeline::ThreadPlan> threads;
    WaitPolicy wait = WaitPolicy::sleep;
    double probe_share = 0;  ///< of each core, for measuring the machine's hiccups; 0: not measured
};

/// Receive and trigger, joined and run: as rich::Node. The control thread calls all members.
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
    /// All expected slices have been passed on, or the file is at its end.
    bool finished() const noexcept;

    std::vector<std::uint16_t> ports() const { return boards_.intake().ports(); }
    std::vector<CounterPage::Sample> counters() const { return page_.read(); }
    CounterPage& page() noexcept { return page_; }
    void keep_page() { runner_.keep_page(); }  ///< Now and then: the page shows that this thread goes on.
    pipeline::Latencies latency() const { return runner_.latency(); }
    pipeline::LatenciesOverTime latency_over_time() const { return runner_.latency_over_time(); }
    const pipeline::MachineProbe* probe() const noexcept { return probe_.get(); }  ///< null: the machine is not watched
    pipeline::Notices notices() { return runner_.notices(); }
    pipeline::States states() const { return runner_.states(); }
    const std::vector<Dom>& doms() const noexcept { return doms_; }
    const DatagramLog& log(std::uint32_t dom) const noexcept {
        return boards_.builder().log(dom);
    }  ///< Once it has stopped.
    SliceTrigger& trigger() noexcept { return decisions_.trigger(); }

  private:
    const std::uint64_t n_slices_;
    CounterPage page_;
    const std::vector<Dom> doms_;
    Boards boards_;
    Decisions decisions_;
    std::unique_ptr<pipeline::MachineProbe> probe_;
    pipeline::Runner runner_;  ///< last: its threads end before what they work on
};

}  // namespace anello::km3net
