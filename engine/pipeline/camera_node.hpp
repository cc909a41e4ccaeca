// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/counters.hpp"
#include "core/thread.hpp"
#include "pipeline/camera_node_config.hpp"
#include "pipeline/camera_watch.hpp"

namespace anello::pipeline {

/// The camera event builder, joined and run: receive and build (in one thread or two, for each group of boards), then
/// send. Like Node: everything is taken in the constructor, start() makes the threads, stop() lets what is on the way
/// arrive, and the control thread calls all members.
class CameraNode {
  public:
    explicit CameraNode(const CameraNodeConfig& config,
                        const Clock& clock = SystemClock::instance());  ///< Throws ConfigError, SystemError.
    ~CameraNode();
    CameraNode(const CameraNode&) = delete;
    CameraNode& operator=(const CameraNode&) = delete;

    void start();
    /// Drains: what the system has received is built and sent; waits at most 10 s.
    void stop();
    /// All expected runs have ended, or the file is at its end.
    bool finished() const noexcept;

    std::vector<std::uint16_t> ports() const { return watch_->ports(); }
    std::vector<CounterPage::Sample> counters() const { return page_.read(); }
    CameraOutlet& outlet() noexcept { return *outlet_; }
    /// What changed since the last call, one line each: a silent or slow board, datagrams dropped by the kernel.
    std::vector<std::string> notices();
    std::map<std::string, std::string> states() const;
    /// Calls use(board, its log) for each board, once the node has stopped.
    void for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use);
    bool running() const noexcept { return started_; }

  private:
    void make_intakes();
    void add_threads();
    WorkerThread* add_intake_thread(const ThreadPlan& plan, std::uint32_t group, WorkerThread* builder,
                                    WorkerThread* sender);
    WorkerThread* add_thread(std::string name, int core, int wake_descriptor, std::function<std::size_t()> do_work);
    std::size_t work(Stage stage, build::CameraIntake& intake) noexcept;
    bool is_drained() const noexcept;

    CameraNodeConfig config_;
    const Clock& clock_;
    CounterPage page_;
    std::vector<std::unique_ptr<build::CameraIntake>> intakes_;  ///< by group
    std::unique_ptr<build::CameraJoiner> joiner_;
    std::unique_ptr<CameraOutlet> outlet_;
    std::vector<std::unique_ptr<WorkerThread>> threads_;
    bool started_ = false;
    std::unique_ptr<CameraWatch> watch_;
    bool drain_timed_out_ = false;
};

}  // namespace anello::pipeline
