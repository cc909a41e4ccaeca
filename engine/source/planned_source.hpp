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
    std::uint64_t seed = 1;     ///< of the faults
    bool paced = true;          ///< by the clock; else as fast as it goes
    double max_behind_ms = 50;  ///< farther behind, time is forgone instead of sending a flood
    std::size_t max_packet_bytes = 9000;
    std::uint32_t max_batch = PacketSink::max_batch;  ///< datagrams that are handed over at once
    FaultsConfig faults = {};                         ///< dead_board: from step dead_from_event on
    ThreadConfig thread{.name = "boards"};
};

/// Simulated boards that send what a plan says, with faults on purpose and books of what was sent. A packet never
/// leaves before it is due. What they send follows from plan, configuration and seed alone, not from when the thread
/// runs.
class PlannedSource {
  public:
    /// Sink, clock and page must outlive it. Counters: "source", "source.board<b>".
    PlannedSource(const PlannedSourceConfig& config, std::unique_ptr<PacketPlan> plan, PacketSink& sink,
                  const Clock& clock, CounterPage& page);
    ~PlannedSource() { thread_.stop(); }
    PlannedSource(const PlannedSource&) = delete;
    PlannedSource& operator=(const PlannedSource&) = delete;

    void start();  ///< Throws ConfigError when the core to pin to does not exist.
    /// Ends the run in order, end markers included, then joins the thread. Before start() nothing is sent.
    void stop();
    void wait();                   ///< Until the plan has ended; needs a plan that ends, or request_stop().
    void request_stop() noexcept;  ///< From any thread: do_work() ends the run in order.
    bool running() const noexcept { return !finished_.load(std::memory_order_acquire); }  // pairs with end()

    /// One step of the thread; tests and simulated time call it themselves. Returns the packets made. Hot path.
    std::size_t do_work() noexcept;
    /// Once do_work() found nothing to do: how long that remains so.
    Nanoseconds longest_wait_ns() const noexcept;

    std::span<const BoardEndpoint> boards() const noexcept { return config_.boards; }
    std::span<const TruthSample> truth() const noexcept { return plan_->truth(); }  ///< From any thread.
    const Counters<GeneratorCounter>& counters() const noexcept { return counters_; }
    /// Of a board by its place, once the source has stopped.
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
    /// What a fault is counted as.
    struct FaultCounters {
        SourceCounter packets, fragments;
    };
    static constexpr std::size_t datagrams_of_one = 3;  ///< itself, its duplicate, and one that was held

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
    std::vector<std::vector<std::byte>> rooms_;  ///< for each datagram of a batch
    std::vector<OutgoingDatagram> out_;
    std::vector<SendResult> results_;
    PacketPlan::Packet next_;  ///< as the plan said last
    bool has_begun_ = false, is_started_ = false;
    std::uint32_t epoch_ = 0;
    Nanoseconds start_ns_ = 0, wall_ns_ = 0;
    std::atomic<bool> stop_requested_{false}, finished_{false};
    WorkerThread thread_;  ///< last: ends before what it works on
};

}  // namespace anello::source
