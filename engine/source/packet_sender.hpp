// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "source/fault_injector.hpp"
#include "source/packet_sink.hpp"
#include "source/packet_slots.hpp"
#include "source/sent_log.hpp"
#include "source/source_counters.hpp"
#include "source/source_format.hpp"

namespace anello::source {

/// The last step before the network: stamps the send time, seals, injects faults, hands over, counts.
class PacketSender {
  public:
    PacketSender(std::span<const BoardEndpoint> endpoints, Format format, const FaultsConfig& faults,
                 std::uint64_t seed, PacketSlots& slots, PacketSink& sink, CounterPage& page);

    // Hot path: no allocation, no lock, no log, no throw. Gives all slots back but those of packets held to be
    // reordered. `sends` counts batches.
    void send(std::span<const ClosedPacket> packets, Nanoseconds wall_ns, std::uint64_t& sends) noexcept;
    /// Of a board by its place among the endpoints.
    const SentLog& log(std::size_t stream) const noexcept { return boards_[stream].log; }

  private:
    struct Board {
        std::uint16_t board;
        FaultInjector faults;
        Counters<SourceCounter> counters;
        SentLog log;
        bool holds = false;
        ClosedPacket held{};
    };

    bool is_dead(const Board& board, const ClosedPacket& packet) const noexcept;
    void seal(const ClosedPacket& packet, Nanoseconds wall_ns) noexcept;
    static void withhold(Board& board, const ClosedPacket& packet, Withheld why) noexcept;
    void send_marker(Board& board, const ClosedPacket& packet) noexcept;
    void send_data(Board& board, ClosedPacket packet) noexcept;
    void release_held(Board& board) noexcept;
    void put_out(const ClosedPacket& packet) noexcept;
    void hand_over() noexcept;
    void count_results() noexcept;

    Format format_;
    FaultsConfig config_;
    PacketSlots& slots_;
    PacketSink& sink_;
    std::vector<Board> boards_;
    Nanoseconds wall_ns_ = 0;
    std::uint64_t n_sends_ = 0;
    std::size_t n_out_ = 0, n_done_ = 0;
    std::array<OutgoingDatagram, PacketSink::max_batch> out_;
    std::array<SendResult, PacketSink::max_batch> results_;
    std::array<std::uint32_t, PacketSink::max_batch> done_slots_;  // free once the batch is handed over
};

}  // namespace anello::source
