// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/thread.hpp"
#include "km3net/simulation.hpp"
#include "source/fault_injector.hpp"
#include "source/packet_sink.hpp"
#include "source/sent_log.hpp"
#include "source/source_counters.hpp"

namespace anello::km3net {

struct SourceConfig {
    LineConfig line;
    SimulationConfig simulation;
    std::string host = "127.0.0.1";
    std::vector<std::uint16_t> ports = {0};   ///< DOMs take them in turn
    std::uint32_t first_dom = 0, n_doms = 0;  ///< those that send; 0: all from first_dom on
    std::uint32_t run = 1;
    std::uint64_t n_slices = 0;      ///< 0: endless
    std::uint64_t first_slice = 0;   ///< since 1970; 0: that of the start
    std::uint32_t pool_slices = 10;  ///< different ones, made at start and sent in turn
    std::uint32_t hits_per_datagram = 670;
    bool paced = true;  ///< by the clock; else as fast as it goes
    double max_behind_ms = 50;
    source::FaultsConfig faults;  ///< loss, duplicate, reorder; dead_board, from slice dead_from_event on
    ThreadConfig thread{.name = "boards"};
    void validate() const;  ///< Throws ConfigError.
    std::vector<source::BoardEndpoint> endpoints() const;
    std::uint32_t end_dom() const noexcept { return n_doms > 0 ? first_dom + n_doms : line.n_doms; }
};

/// The boards of all DOMs. What they send follows from configuration and seed alone, but for the slices' times.
class Source {
  public:
    /// Makes the pool. Sink, clock and page must outlive it. Counters: "source", "source.board<d>". Throws ConfigError.
    Source(const SourceConfig& config, source::PacketSink& sink, const Clock& clock, CounterPage& page);
    ~Source() { thread_.stop(); }
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    void start();
    void stop();  ///< The slice that is being sent is the last; waits for its end.
    bool running() const noexcept { return !finished_.load(std::memory_order_acquire); }

    /// One step of the thread; tests call it themselves. Returns the datagrams sent. Hot path.
    std::size_t do_work() noexcept;

    /// Of a DOM that sends. Once it has stopped.
    const source::SentLog& log(std::uint32_t dom) const noexcept { return boards_[dom - config_.first_dom].log; }

  private:
    /// A datagram of the pool: whole, but for its slice's time.
    struct Planned {
        std::int64_t due_ns;  ///< since the slice's begin
        std::uint32_t dom, n_hits;
        wire::clb::Header header;
        std::vector<std::byte> bytes;
    };
    struct Board {
        source::FaultInjector faults;
        Counters<source::SourceCounter> counters;
        source::SentLog log;
        const Planned* held = nullptr;  ///< to be sent after its successor
    };
    static constexpr std::size_t n_out_most = 256;

    void add_to_pool(const std::vector<SimulatedFrame>& frames);
    void plan_frame(std::vector<Planned>& slice, std::uint32_t dom, const SimulatedFrame& frame) const;
    void begin(Nanoseconds now_ns) noexcept;
    std::int64_t time_in_slice(Nanoseconds now_ns) noexcept;
    Board& board_of(const Planned& planned) noexcept { return boards_[planned.dom - config_.first_dom]; }
    std::vector<Planned>& plan() noexcept { return pool_[n_sent_ % pool_.size()]; }
    void send_planned(Planned& planned) noexcept;
    void put_out(const Planned& planned) noexcept;
    void flush() noexcept;
    void end_slice() noexcept;

    const SourceConfig config_;
    source::PacketSink& sink_;
    const Clock& clock_;
    const std::vector<Dom> doms_;
    Counters<source::GeneratorCounter> counters_;
    std::deque<Board> boards_;                ///< from first_dom on
    std::vector<std::vector<Planned>> pool_;  ///< slices, each in order of time
    std::vector<source::OutgoingDatagram> out_;
    std::array<source::SendResult, n_out_most> results_{};

    bool begun_ = false, started_ = false;
    std::uint64_t first_slice_ = 0, n_sent_ = 0;  ///< slices
    std::size_t next_ = 0;                        ///< in the plan of the slice
    Nanoseconds start_ns_ = 0;
    std::atomic<bool> stop_requested_{false}, finished_{false};
    WorkerThread thread_;  ///< last: ends before what it works on
};

}  // namespace anello::km3net
