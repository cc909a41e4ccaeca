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
    std::vector<std::uint16_t> ports = {0};  ///< DOMs take them in turn
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

    const source::SentLog& log(std::size_t dom) const noexcept { return boards_[dom].log; }  ///< Once it has stopped.
    std::span<const Dom> doms() const noexcept { return doms_; }
    const std::vector<std::vector<Muon>>& muons() const noexcept { return muons_; }  ///< by slice of the pool

  private:
    struct Planned {
        std::int64_t due_ns;  ///< since the slice's begin
        std::uint32_t dom, sequence, first_hit, n_hits;
    };
    struct PoolSlice {
        std::vector<std::vector<std::byte>> hits;  ///< by DOM, packed
        std::vector<std::uint32_t> vetoed;
        std::vector<Planned> plan;  ///< in order of time; trailers have no hits
    };
    struct Board {
        source::FaultInjector faults;
        Counters<source::SourceCounter> counters;
        source::SentLog log;
        std::size_t held = none;  ///< the datagram to be sent after its successor
    };
    struct Out {
        std::vector<std::byte> bytes;
        std::uint32_t epoch, sequence;
    };
    static constexpr std::size_t none = ~std::size_t{0}, n_out_most = 256;

    void add_to_pool(const Simulation& simulation, std::uint64_t number);
    void plan_frame(PoolSlice& slice, std::uint32_t dom) const;
    void begin(Nanoseconds now_ns) noexcept;
    std::int64_t time_in_slice(Nanoseconds now_ns) noexcept;
    void send_planned(const Planned& planned) noexcept;
    std::size_t write(const Planned& planned) noexcept;
    void put_out(std::uint32_t dom, std::size_t slot) noexcept;
    void flush() noexcept;
    void end_slice() noexcept;

    const SourceConfig config_;
    source::PacketSink& sink_;
    const Clock& clock_;
    const std::vector<Dom> doms_;
    Counters<source::GeneratorCounter> counters_;
    std::deque<Board> boards_;
    std::vector<PoolSlice> pool_;
    std::vector<std::vector<Muon>> muons_;
    std::vector<Out> slots_;         ///< datagrams being sent, and those held
    std::vector<std::size_t> free_;  ///< of them
    std::vector<std::size_t> out_slots_;
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
