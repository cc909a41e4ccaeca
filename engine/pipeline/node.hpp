// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "build/merger.hpp"
#include "core/counters.hpp"
#include "core/thread.hpp"
#include "emit/primitive_listener.hpp"
#include "emit/udp_sink.hpp"
#include "pipeline/block_intake.hpp"
#include "pipeline/collector.hpp"
#include "pipeline/node_config.hpp"
#include "pipeline/trigger_pool.hpp"
#include "receive/receiver.hpp"

namespace anello::pipeline {

/// Receive, build, trigger, emit and store, joined and run. Everything is taken in the constructor; start() makes the
/// threads; stop() lets what is on the way arrive. All members are called by the control thread.
class Node {
  public:
    explicit Node(const NodeConfig& config,
                  const Clock& clock = SystemClock::instance());  ///< Throws ConfigError, SystemError.
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    void start();
    /// Drains: what the system has received is built, decided and emitted; waits at most 10 s.
    void stop();
    /// All expected bursts are decided, or the file is at its end.
    bool finished() const noexcept;

    std::vector<std::uint16_t> ports() const;
    std::vector<CounterPage::Sample> counters() const { return page_.read(); }
    const LatencyRecorder& latency() const noexcept { return collector_->latency(); }
    Collector& collector() noexcept { return *collector_; }
    /// What changed since the last call, one line each: a board that fell silent, datagrams dropped by the kernel.
    std::vector<std::string> notices();
    std::map<std::string, std::string> states() const;
    /// Of a board by its place among the ports, once the node has stopped.
    const receive::SequenceLog& sequence_log(std::size_t stream) noexcept {
        return receiver_->close_sequence_log(stream);
    }
    bool running() const noexcept { return started_; }
    const build::BatchShape& batch_shape() const noexcept { return config_.build.batch; }

  private:
    enum class Phase : std::uint8_t { running, draining_receive, draining_build };

    void make_intake();
    void make_emitter();
    void make_publisher();
    void make_writer();
    void add_thread(const std::string& name, int core, WaitPolicy wait, std::function<std::size_t()> do_work);
    std::size_t work(Stage stage) noexcept;
    std::size_t receive_work() noexcept;
    bool is_drained() const noexcept;
    void add_trigger_notices(std::vector<std::string>& lines);

    NodeConfig config_;
    const Clock& clock_;
    CounterPage page_;
    std::vector<std::unique_ptr<receive::BlockStream>> streams_;
    BlockIntake intake_{streams_};
    std::vector<receive::StreamCounters> stream_counters_;
    std::unique_ptr<receive::Receiver> receiver_;
    memory::PersistentBuffers batches_;
    std::unique_ptr<TriggerPool> pool_;
    std::unique_ptr<build::Merger> merger_;
    std::unique_ptr<emit::PrimitiveListener> listener_;
    std::unique_ptr<emit::UdpSink> emit_sink_;
    std::unique_ptr<emit::PrimitiveEmitter> emitter_;
    std::unique_ptr<DecisionPublisher> publisher_;
    std::unique_ptr<store::DecisionWriter> writer_;
    std::unique_ptr<Collector> collector_;
    std::vector<std::unique_ptr<WorkerThread>> threads_;
    std::atomic<Phase> phase_{Phase::running};
    bool started_ = false;

    struct Seen {
        std::uint64_t silences = 0, kernel_dropped = 0, dropped_packets = 0;
        bool silent = false;
        receive::TenfoldNotice strangers, ahead;
    };
    std::vector<Seen> seen_;
    std::array<bool, 5> trigger_faults_told_{};
    bool drain_timed_out_ = false;
    std::string store_error_;
};

}  // namespace anello::pipeline
