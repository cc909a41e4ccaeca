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

/// One node of the exchange: a fabric, the units behind it, a generator, and the threads that serve them. Everything is
/// taken in the constructor. The control thread calls all members; what concerns the fabric is done by its own thread.
class ExchangeNode {
  public:
    explicit ExchangeNode(const ExchangeNodeConfig& config,
                          const Clock& clock = SystemClock::instance());  ///< Throws ConfigError, SystemError.
    ~ExchangeNode();
    ExchangeNode(const ExchangeNode&) = delete;
    ExchangeNode& operator=(const ExchangeNode&) = delete;

    /// Of this process, and no other that may come in its place: its life and the fabric's address.
    std::vector<std::byte> address() const;
    /// Before start() of all other nodes, which it then connects with; later with one that came again. Throws
    /// ConfigError where the address is too short; one that is wrong otherwise is an error of start(), later a notice.
    void connect(exchange::Node node, std::vector<std::byte> address);
    void disconnect(exchange::Node node);

    void start();  ///< Throws ConfigError, SystemError.
    /// Orderly end of the whole run, and of the threads; waits for what is on its way, as the timeouts say.
    void stop() { runner_.stop(); }
    void abort();  ///< At once; the others find this node gone.
    /// The run is over, or this node's part in it: see failure().
    bool finished() const noexcept { return station_->finished() || station_->failed(); }
    std::string failure() const;

    std::vector<CounterPage::Sample> counters() const { return page_.read(); }
    CounterPage& page() noexcept { return page_; }
    void keep_page() { runner_.keep_page(); }  ///< Now and then: the page shows that this thread goes on.
    std::map<std::string, std::uint64_t> progress() const;
    /// What each part is and how it does. Of the fabric: as its thread last said it, at the call before this one.
    States states() const { return runner_.states(); }
    /// What changed since the last call, one line each.
    Notices notices() { return runner_.notices(); }
    const exchange::Station& station() const noexcept { return *station_; }
    /// After stop() or abort().
    exchange::NodeAccount account() const { return exchange::account_of(*station_); }
    /// UDP ports of the node's front ends; none where the generator is the input.
    std::vector<std::uint16_t> ports() const;
    /// Of the stages behind the builder.
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
    publish::MepPublisher* publisher_ = nullptr;  ///< the sink, where built events are published
    ExchangeOutput* output_ = nullptr;            ///< the sink, or behind the publisher, where it is one
    std::unique_ptr<exchange::Station> station_;
    std::unique_ptr<fabric::Fabric> fabric_;
    bool source_apart_ = false;  ///< on a thread of its own, or several
    std::uint64_t passed_ = 0;   ///< by the source, when it woke the units last
    bool started_ = false, aborted_ = false, has_left_ = false;
    std::uint32_t n_idle_ = 0;
    std::atomic<bool> sleeping_{false};

    mutable std::mutex mutex_;
    std::string fabric_words_;
    mutable std::atomic<bool> words_wanted_{false};
    std::vector<std::function<void()>> commands_;
    Notices command_errors_;
    std::atomic<bool> has_commands_{false};

    /// Addresses, until the start: a connection that nobody serves would be given up while an operator waits.
    std::map<exchange::Node, std::vector<std::byte>> known_;
    std::vector<exchange::NodeState> seen_;
    bool failure_told_ = false;
    exchange::Node manager_told_;
    Runner runner_;  ///< last: its threads end before what they work on
};

}  // namespace anello::pipeline
