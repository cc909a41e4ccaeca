// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rich/source/source_format.hpp"
#include "source/fault_injector.hpp"
#include "source/packet_slots.hpp"
#include "source/sent_log.hpp"
#include "source/sinks/packet_sink.hpp"
#include "source/source_counters.hpp"

namespace anello::rich {

/// The last step before the network: stamps the send time, seals, injects faults, hands over, counts.
class PacketSender {
  public:
    PacketSender(std::span<const source::BoardEndpoint> endpoints, Format format, const source::FaultsConfig& faults,
                 std::uint64_t seed, source::PacketSlots& slots, source::PacketSink& sink, CounterPage& page);

    // Hot path: no allocation, no lock, no log, no throw.
    /// When timestamp 0 of the burst that begins is: its start packets carry that.
    void begin_burst(Nanoseconds wall_ns) noexcept { burst_wall_ns_ = wall_ns; }
    /// Gives all slots back but those of packets held to be reordered. `sends` counts batches.
    void send(std::span<const source::ClosedPacket> packets, Nanoseconds wall_ns, std::uint64_t& sends) noexcept;
    /// Of a board by its place among the endpoints.
    const source::SentLog& log(std::size_t stream) const noexcept { return boards_[stream].log; }

  private:
    struct Board {
        std::uint16_t board;
        source::FaultInjector faults;
        Counters<source::SourceCounter> counters;
        source::SentLog log;
        bool holds = false;
        source::ClosedPacket held{};
    };

    bool is_dead(const Board& board, const source::ClosedPacket& packet) const noexcept;
    void seal(const source::ClosedPacket& packet, Nanoseconds wall_ns) noexcept;
    static void withhold(Board& board, const source::ClosedPacket& packet, source::Withheld why) noexcept;
    void send_marker(Board& board, const source::ClosedPacket& packet) noexcept;
    void send_data(Board& board, source::ClosedPacket packet) noexcept;
    void release_held(Board& board) noexcept;
    void put_out(const source::ClosedPacket& packet) noexcept;
    void hand_over() noexcept;
    void count_results() noexcept;

    Format format_;
    source::FaultsConfig config_;
    source::PacketSlots& slots_;
    source::PacketSink& sink_;
    std::vector<Board> boards_;
    Nanoseconds wall_ns_ = 0, burst_wall_ns_ = 0;
    std::uint64_t n_sends_ = 0;
    std::size_t n_out_ = 0, n_done_ = 0;
    std::array<source::OutgoingDatagram, source::PacketSink::max_batch> out_;
    std::array<source::SendResult, source::PacketSink::max_batch> results_;
    std::array<std::uint32_t, source::PacketSink::max_batch> done_slots_;  // free once the batch is handed over
};

}  // namespace anello::rich
