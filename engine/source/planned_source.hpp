// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/thread.hpp"
#include "source/fault_injector.hpp"
#include "source/packet_plan.hpp"
#include "source/sent_log.hpp"
#include "source/sinks/packet_sink.hpp"

namespace anello::source {

struct PlannedSourceConfig {
    std::vector<BoardEndpoint> boards;
    std::uint64_t seed = 1;     ///< seed of the faults
    bool paced = true;          ///< sends at the times of the plan; otherwise as fast as possible
    double max_behind_ms = 50;  ///< after a longer delay the clock is put back instead of sending a flood
    std::size_t max_packet_bytes = 9000;
    std::uint32_t max_batch = PacketSink::max_batch;  ///< datagrams that are given to the sink at once
    FaultsConfig faults = {};                         ///< dead_board: from step dead_from_event on
    ThreadConfig thread{.name = "boards"};
};

/// Simulated boards that send according to a plan, with deliberate faults and records of what was sent. A packet
/// never leaves before it is due. The datagrams depend on plan, configuration and seed only, not on when the thread
/// runs.
class PlannedSource {
  public:
    /// Sink, clock and page must outlive it. Counters: "source", "source.board<b>".
    PlannedSource(const PlannedSourceConfig& config, std::unique_ptr<PacketPlan> plan, PacketSink& sink,
                  const Clock& clock, CounterPage& page);
    ~PlannedSource() { thread_.stop(); }
    PlannedSource(const PlannedSource&) = delete;
    PlannedSource& operator=(const PlannedSource&) = delete;

    void start();  ///< Throws ConfigError if the core to pin to does not exist.
    /// Ends the run in order, with end markers, then joins the thread. Before start() nothing is sent.
    void stop();
    void wait();                   ///< Waits until the plan has ended; needs a plan that ends, or request_stop().
    void request_stop() noexcept;  ///< Any thread may call it: do_work() ends the run in order.
    bool running() const noexcept { return !finished_.load(std::memory_order_acquire); }  // pairs with end()

    /// One step of the thread; tests and simulated time call it themselves. Returns the number of packets. Hot path.
    std::size_t do_work() noexcept;
    /// After do_work() found nothing to do: the time until there may be work again.
    Nanoseconds longest_wait_ns() const noexcept;

    std::span<const BoardEndpoint> boards() const noexcept { return config_.boards; }
    std::span<const TruthSample> truth() const noexcept { return plan_->truth(); }  ///< Any thread may call it.
    const Counters<GeneratorCounter>& counters() const noexcept { return counters_; }
    /// The log of one board, by its index; read it once the source has stopped.
    const SentLog& sent_log(std::size_t stream) const noexcept { return boards_[stream].log; }
    std::int64_t cpu_time_ns() const noexcept { return thread_.cpu_time_ns(); }  ///< of the sending thread

  private:
    struct Board {
        std::uint16_t board;
        FaultInjector faults;
        Counters<SourceCounter> counters;
        SentLog log;
        std::vector<std::byte> held;  ///< a datagram that waits to be sent after its successor
        OutgoingDatagram waiting{};   ///< the same, when it holds one
        bool holds = false;
    };
    /// The counters of one kind of fault.
    struct FaultCounters {
        SourceCounter packets, fragments;
    };
    static constexpr std::size_t datagrams_of_one = 3;  ///< the datagram, its duplicate, and one that was held back

    ThreadConfig thread_config(CounterPage& page);
    Nanoseconds time_of_run(Nanoseconds now_ns) noexcept;
    void watch_lag(Nanoseconds behind_ns) noexcept;
    void send(const PacketPlan::Packet& packet) noexcept;
    void send_marker(Board& board, const OutgoingDatagram& datagram, bool is_dead) noexcept;
    void send_data(Board& board, OutgoingDatagram datagram, bool is_dead) noexcept;
    void count(Board& board, FaultCounters fault, const OutgoingDatagram& datagram) noexcept;
    void withhold(Board& board, FaultCounters fault, const OutgoingDatagram& datagram, Withheld why) noexcept;
    void hold(Board& board, const OutgoingDatagram& datagram) noexcept;
    void release_held(Board& board) noexcept;
    void release_all() noexcept;
    std::span<std::byte> copied(std::span<const std::byte> datagram) noexcept;
    void flush() noexcept;
    void end() noexcept;

    const PlannedSourceConfig config_;
    const std::unique_ptr<PacketPlan> plan_;
    PacketSink& sink_;
    const Clock& clock_;
    Counters<GeneratorCounter> counters_;
    std::vector<Board> boards_;
    std::vector<std::vector<std::byte>> rooms_;  ///< memory for each datagram of a batch
    std::vector<OutgoingDatagram> out_;
    std::vector<SendResult> results_;
    PacketPlan::Packet next_;  ///< the packet that the plan gave last
    bool has_begun_ = false, is_started_ = false;
    std::uint32_t epoch_ = 0;
    Nanoseconds start_ns_ = 0, wall_ns_ = 0;
    std::atomic<bool> stop_requested_{false}, finished_{false};
    WorkerThread thread_;  ///< last member: it stops before the members that it uses are destroyed
};

}  // namespace anello::source
