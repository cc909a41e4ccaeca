// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/thread.hpp"
#include "source/fault_injector.hpp"
#include "source/sent_log.hpp"
#include "source/sinks/packet_sink.hpp"
#include "source/source_counters.hpp"

namespace anello::source {

/// What boards send, and when: one packet after the other. The sending thread calls all members.
/// Hot path: no allocation, no lock, no log, no throw.
class PacketPlan {
  public:
    struct Packet {
        Nanoseconds due_ns = 0;  ///< since the source's start
        std::uint32_t board = 0;
        std::uint64_t step = 0;  ///< an event, slice or the like: the last is sent whole
        std::uint32_t epoch = 0, sequence = 0;
        std::uint32_t n_hits = 0;
    };
    virtual ~PacketPlan() = default;
    /// False: there are no more.
    virtual bool next(Packet& packet) noexcept = 0;
    /// Writes it, if it is to be sent, and returns its length.
    virtual std::size_t write(const Packet& packet, std::span<std::byte> datagram) noexcept = 0;
};

struct PlannedSourceConfig {
    std::uint32_t first_board = 0, n_boards = 1;
    std::uint64_t seed = 1;     ///< of the faults
    bool paced = true;          ///< by the clock; else as fast as it goes
    double max_behind_ms = 50;  ///< farther behind, time is forgone instead of sending a flood
    std::size_t max_packet_bytes = 9000;
    FaultsConfig faults = {};  ///< of them loss, duplicate, reorder, dead_board from step dead_from_event on
    ThreadConfig thread{.name = "boards"};
};

/// Simulated boards that send what a plan says, with faults on purpose and books of what was sent. What they send
/// follows from plan, configuration and seed alone.
class PlannedSource {
  public:
    /// Sink, clock and page must outlive it. Counters: "source", "source.board<b>".
    PlannedSource(const PlannedSourceConfig& config, std::unique_ptr<PacketPlan> plan, PacketSink& sink,
                  const Clock& clock, CounterPage& page);
    ~PlannedSource() { thread_.stop(); }
    PlannedSource(const PlannedSource&) = delete;
    PlannedSource& operator=(const PlannedSource&) = delete;

    void start();
    void stop();  ///< The step that is being sent is the last; waits for its end.
    bool running() const noexcept { return !finished_.load(std::memory_order_acquire); }  // pairs with end()

    /// One step of the thread; tests call it themselves. Returns the packets made. Hot path.
    std::size_t do_work() noexcept;

    std::uint32_t first_board() const noexcept { return config_.first_board; }
    std::uint32_t n_boards() const noexcept { return static_cast<std::uint32_t>(boards_.size()); }
    /// Once it has stopped.
    const SentLog& log(std::uint32_t board) const noexcept { return boards_[board - config_.first_board].log; }

  private:
    struct Memory {
        std::vector<std::byte> bytes;
        std::size_t length = 0;
        PacketPlan::Packet packet;
    };
    struct Board {
        FaultInjector faults;
        Counters<SourceCounter> counters;
        SentLog log;
        Memory held;  ///< to be sent after its successor
        bool holds = false;
    };
    static constexpr std::size_t datagrams_of_one = 3;  ///< itself, its duplicate, and one that was held

    Board& board_of(const PacketPlan::Packet& packet) noexcept { return boards_[packet.board - config_.first_board]; }
    bool has_next() noexcept;
    Nanoseconds time_of_run(Nanoseconds now_ns) noexcept;
    void begin_step() noexcept;
    void send(const PacketPlan::Packet& packet) noexcept;
    bool withhold(Board& board, const PacketPlan::Packet& packet, Fault fault) noexcept;
    void release_held(Board& board) noexcept;
    void put_out(const Memory& memory) noexcept;
    void flush() noexcept;
    void end() noexcept;

    const PlannedSourceConfig config_;
    const std::unique_ptr<PacketPlan> plan_;
    PacketSink& sink_;
    const Clock& clock_;
    Counters<GeneratorCounter> counters_;
    std::deque<Board> boards_;     ///< from first_board on
    std::vector<Memory> packets_;  ///< memory of those put out
    std::vector<OutgoingDatagram> out_;
    std::vector<SendResult> results_;
    PacketPlan::Packet next_;  ///< when has_next_
    bool has_next_ = false, has_begun_ = false, is_started_ = false;
    std::uint64_t step_ = 0;  ///< of the packet that was sent last, when has_begun_
    Nanoseconds start_ns_ = 0;
    std::atomic<bool> stop_requested_{false}, finished_{false};
    WorkerThread thread_;  ///< last: ends before what it works on
};

}  // namespace anello::source
