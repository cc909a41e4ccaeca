// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "exchange/node_account.hpp"
#include "pipeline/exchange_node_config.hpp"
#include "pipeline/runner.hpp"
#include "publish/mep_publisher.hpp"

namespace anello::pipeline {

/// One node of the exchange: a fabric, its units, a generator, and their threads. The constructor allocates everything.
/// The control thread calls all members; the fabric's own thread executes everything that concerns the fabric.
class ExchangeNode {
  public:
    explicit ExchangeNode(const ExchangeNodeConfig& config,
                          const Clock& clock = SystemClock::instance());  ///< Throws ConfigError, SystemError.
    ~ExchangeNode();
    ExchangeNode(const ExchangeNode&) = delete;
    ExchangeNode& operator=(const ExchangeNode&) = delete;

    /// Identifies this process and its restarts: a number for its life, followed by the fabric's address.
    std::vector<std::byte> address() const;
    /// Call it before start() for all other nodes, and later for a node that came again. Throws ConfigError if the
    /// address is too short; start(), or later a notice, reports other errors of the address.
    void connect(exchange::Node node, std::vector<std::byte> address);
    void disconnect(exchange::Node node);

    void start();  ///< Throws ConfigError, SystemError.
    /// Ends the whole run in order, then the threads; waits for data on its way as the timeouts allow.
    void stop() { runner_.stop(); }
    void abort();  ///< Ends immediately; the other nodes see this node as dead.
    /// True if the run is over, or this node's part in it: see failure().
    bool finished() const noexcept { return station_->finished() || station_->failed(); }
    std::string failure() const;

    std::vector<CounterPage::Sample> counters() const { return page_.read(); }
    CounterPage& page() noexcept { return page_; }
    void keep_page() { runner_.keep_page(); }  ///< Call periodically: shows that this thread is alive.
    std::map<std::string, std::uint64_t> progress() const;
    /// What each part is, and its state. The fabric's state is that of the call before this one.
    States states() const { return runner_.states(); }
    /// What changed since the last call, for the operator.
    Notices notices() { return runner_.notices(); }
    const exchange::Station& station() const noexcept { return *station_; }
    /// Call it after stop() or abort().
    exchange::NodeAccount account() const { return exchange::account_of(*station_); }
    /// UDP ports of the node's front ends; none if the generator is the input.
    std::vector<std::uint16_t> ports() const;
    /// Latencies of the stages after the builder.
    Latencies latency() const { return runner_.latency(); }
    LatenciesOverTime latency_over_time() const { return runner_.latency_over_time(); }

  private:
    void make_units(const Clock& clock);
    void make_source(const Clock& clock);
    void make_sink(const Clock& clock);
    void make_publisher(const Clock& clock);
    void make_fabric(const Clock& clock);
    void make_chain();
    Stage run_stage();
    ChainPart generator_part();
    ChainPart exchange_part();
    Stage sink_stage();
    void end_units();
    void leave();
    void connect_now(exchange::Node node, std::span<const std::byte> address);
    void command(std::function<void()> command);
    void run_commands() noexcept;
    std::string fabric_words() const;
    void write_fabric_words();
    std::size_t work() noexcept;
    void wake_units() noexcept;
    void wait_for_work() noexcept;
    void add_states(States& states) const;
    void add_buffers(BufferLevels& levels) const;
    void add_notices(Notices& notices);

    ExchangeNodeConfig config_;
    const Clock& clock_;
    CounterPage page_;
    std::unique_ptr<exchange::MfpRing> ring_;
    std::unique_ptr<exchange::Generator> generator_;
    std::unique_ptr<ExchangeInput> input_;  ///< instead of the generator
    std::unique_ptr<exchange::MepSink> sink_;
    publish::MepPublisher* publisher_ = nullptr;  ///< the sink, if built events are published
    ExchangeOutput* output_ = nullptr;            ///< the sink, or the publisher's next stage, if there is one
    std::unique_ptr<exchange::Station> station_;
    std::unique_ptr<fabric::Fabric> fabric_;
    bool source_apart_ = false;  ///< on one or more threads of its own
    std::uint64_t passed_ = 0;   ///< of the source, when it last woke the units
    bool started_ = false, aborted_ = false, has_left_ = false;
    std::uint32_t n_idle_ = 0;
    std::atomic<bool> sleeping_{false};

    mutable std::mutex mutex_;
    std::string fabric_words_;
    mutable std::atomic<bool> words_wanted_{false};
    std::vector<std::function<void()>> commands_;
    Notices command_errors_;
    std::atomic<bool> has_commands_{false};

    /// Addresses until the start, because a connection that no thread serves would time out while an operator waits.
    std::map<exchange::Node, std::vector<std::byte>> known_;
    std::vector<exchange::NodeState> seen_;
    bool is_failure_reported_ = false;
    exchange::Node reported_manager_;
    Runner runner_;  ///< last member: its threads end before the objects that they use
};

}  // namespace anello::pipeline
