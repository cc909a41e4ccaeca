// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "camera/chain/boards.hpp"
#include "camera/chain/node_config.hpp"
#include "camera/chain/outlet.hpp"
#include "camera/events/joiner.hpp"
#include "core/counters/counters.hpp"
#include "pipeline/machine_probe.hpp"
#include "pipeline/runner.hpp"

namespace anello::camera {

/// The whole chain of a camera node: receive and build (in one thread or two, for each group of boards), filter, send.
/// As for rich::Node, the constructor takes all memory and sockets, start() starts the threads, stop() processes what
/// has been received and ends them, and the control thread calls all members.
class CameraNode {
  public:
    /// Throws ConfigError, SystemError.
    explicit CameraNode(const CameraNodeConfig& config, const Clock& clock = SystemClock::instance(),
                        Threads& threads = Threads::system());
    ~CameraNode() { stop(); }
    CameraNode(const CameraNode&) = delete;
    CameraNode& operator=(const CameraNode&) = delete;

    void start() { runner_.start(); }
    /// Drains: the node builds and sends all that the system has received. Waits for this for at most 10 s.
    void stop() { runner_.stop(); }
    /// True once all expected runs have ended, or the input file has been read to its end.
    bool finished() const noexcept;

    std::vector<std::uint16_t> ports() const { return boards_.ports(); }
    std::vector<CounterPage::Sample> counters() const { return page_.read(); }
    CounterPage& page() noexcept { return page_; }
    void keep_page() { runner_.keep_page(); }  ///< Call it regularly: it shows in the page that this thread is alive.
    CameraOutlet& outlet() noexcept { return outlet_; }
    pipeline::Latencies latency() const { return runner_.latency(); }
    pipeline::LatenciesOverTime latency_over_time() const { return runner_.latency_over_time(); }
    const pipeline::MachineProbe* probe() const noexcept { return probe_.get(); }  ///< null: the machine is not watched
    /// Changes since the last call, one line each: a silent or slow board, datagrams dropped by the kernel.
    pipeline::Notices notices() { return runner_.notices(); }
    pipeline::States states() const { return runner_.states(); }
    /// Calls use(board, its log) for each board, once the node has stopped.
    void for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use);
    bool running() const noexcept { return runner_.running(); }

  private:
    const std::uint32_t n_runs_;
    CounterPage page_;
    CameraBoards boards_;
    CameraJoiner joiner_;
    CameraOutlet outlet_;
    std::unique_ptr<pipeline::MachineProbe> probe_;
    pipeline::Runner runner_;  ///< last member, so that its threads end before the objects that they use
};

}  // namespace anello::camera
