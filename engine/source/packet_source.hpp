// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/seed.hpp"
#include "core/thread.hpp"
#include "source/fault_injector.hpp"
#include "source/packet_sink.hpp"
#include "source/sent_log.hpp"
#include "source/source_counters.hpp"

namespace anello::source {

struct PacketSourceConfig {
    // packet_boards_keys says what those mean that have no comment.
    std::uint32_t n_boards = 4;
    double rate_hz = 1000;
    std::uint32_t n_packets = 0;        ///< of each board; 0: endless
    std::uint64_t seed = default_seed;  ///< of the faults
    std::string host = "127.0.0.1";
    std::vector<std::uint16_t> ports{0};
    double max_behind_ms = 50;
    FaultsConfig faults = {};  ///< of them loss, duplicate, reorder, dead_board
    ThreadConfig thread{.name = "boards"};
    void validate() const;  ///< Throws ConfigError.
    std::vector<BoardEndpoint> endpoints() const;
};

/// Of the sections run, boards and boards.faults of a chain of numbered packets.
extern const Keys<PacketSourceConfig> packet_run_keys, packet_boards_keys;
extern const Keys<FaultsConfig> packet_faults_keys;

/// Simulated boards that number their packets: at equal intervals each sends one, and all have the same number.
/// What they send follows from configuration and seed alone.
class PacketSource {
  public:
    static constexpr std::size_t max_packet_bytes = 9000;
    /// Writes this packet of a board and returns its length. The sending thread calls it.
    /// Hot path: no allocation, no lock, no log, no throw.
    using Write = std::function<std::size_t(std::uint32_t board, std::uint32_t sequence, std::span<std::byte>)>;

    /// Sink, clock and page must outlive it. Counters: "source", "source.board<b>". Throws ConfigError.
    PacketSource(const PacketSourceConfig& config, Write write, PacketSink& sink, const Clock& clock,
                 CounterPage& page);
    ~PacketSource() { thread_.stop(); }
    PacketSource(const PacketSource&) = delete;
    PacketSource& operator=(const PacketSource&) = delete;

    void start() { thread_.start(); }
    void stop();  ///< The packets that are being sent are the last.
    bool running() const noexcept { return !finished_.load(std::memory_order_acquire); }

    /// One step of the thread; tests call it themselves. Returns the packets made. Hot path.
    std::size_t do_work() noexcept;

    std::uint32_t n_boards() const noexcept { return static_cast<std::uint32_t>(boards_.size()); }
    const SentLog& log(std::uint32_t board) const noexcept { return boards_[board].log; }  ///< Once it has stopped.

  private:
    struct Packet {
        std::vector<std::byte> bytes;
        std::size_t length = 0;
        std::uint32_t sequence = 0;
    };
    struct Board {
        FaultInjector faults;
        Counters<SourceCounter> counters;
        SentLog log;
        Packet held;  ///< to be sent after its successor
        bool holds = false;
    };
    static constexpr std::size_t most_steps = 64;       ///< in which each board sends a packet
    static constexpr std::size_t datagrams_of_one = 3;  ///< itself, its duplicate, and one that was held

    std::uint64_t n_due(Nanoseconds now_ns) noexcept;
    void make(std::uint32_t board) noexcept;
    bool withhold(Board& board, Fault fault, bool is_dead) noexcept;
    void release_held(std::uint32_t board) noexcept;
    void put_out(std::uint32_t board, const Packet& packet) noexcept;
    void flush() noexcept;
    void end() noexcept;

    const PacketSourceConfig config_;
    const Write write_;
    PacketSink& sink_;
    const Clock& clock_;
    Counters<GeneratorCounter> counters_;
    std::deque<Board> boards_;
    std::vector<Packet> packets_;  ///< memory of those put out
    std::vector<OutgoingDatagram> out_;
    std::vector<SendResult> results_;
    std::uint64_t n_made_ = 0;  ///< of each board
    Nanoseconds start_ns_ = 0;
    std::atomic<bool> finished_{false};
    WorkerThread thread_;  ///< last: ends before what it works on
};

}  // namespace anello::source
