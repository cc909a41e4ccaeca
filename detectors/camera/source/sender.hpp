// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "camera/source/board_counters.hpp"
#include "camera/source/pool.hpp"
#include "source/fault_injector.hpp"
#include "source/packet_slots.hpp"
#include "source/sent_log.hpp"
#include "source/source_counters.hpp"

namespace anello::camera {

/// The last step of a camera's boards before the network: header, checksum and pattern, faults, hand-over, counters.
class CameraSender {
  public:
    CameraSender(const CameraSourceConfig& config, CameraPool& pool, source::PacketSink& sink, CounterPage& page);

    // Hot path: no allocation, no lock, no log, no throw.
    /// The fragments of the streams from `first` to before `end`. They are
    /// sent by flush() at the latest.
    void add_fragments(const CameraTrigger& trigger, std::uint32_t first, std::uint32_t end) noexcept;
    /// A marker of every board; `flag` is start_of_run or end_of_run. Goes out at once, alone.
    void send_markers(std::uint8_t flag, const CameraTrigger& next_trigger) noexcept;
    void flush() noexcept;
    void set_wall_ns(Nanoseconds wall_ns) noexcept { wall_ns_ = wall_ns; }
    /// Batches handed to the network since the last call.
    std::uint64_t take_n_sends() noexcept { return std::exchange(n_sends_, 0); }
    /// Of a board by its place among those of this process.
    const source::SentLog& log(std::size_t stream) const noexcept { return boards_[stream].log; }

  private:
    static constexpr std::uint32_t no_slot = ~0U;
    struct Board {
        std::uint16_t board;
        source::FaultInjector faults;
        Counters<source::SourceCounter> counters;
        source::SentLog log;
        wire::camera::Totals totals;
        wire::camera::FirstCells cells_at_start;
        std::uint32_t held_slot = no_slot;  ///< a fragment that waits to be sent after its successor,
        std::uint64_t held_number = 0;      ///< and its number
    };

    bool is_dead(const Board& board, std::uint64_t index) const noexcept;
    std::span<std::byte> seal(const CameraTrigger& trigger, std::uint32_t stream) noexcept;
    std::uint32_t write_first_cells(const CameraTrigger& trigger, std::uint32_t stream, std::span<std::byte> payload,
                                    std::uint32_t crc_of_waveforms) noexcept;
    void add_fragment(const CameraTrigger& trigger, std::uint32_t stream) noexcept;
    void put_out_with(source::Fault fault, std::uint32_t stream, std::span<std::byte> datagram) noexcept;
    std::uint32_t copy(std::span<const std::byte> datagram) noexcept;
    void release_held(std::uint32_t stream) noexcept;
    void put_out(std::span<const std::byte> bytes, std::uint32_t stream, std::uint64_t number,
                 std::uint32_t n_fragments) noexcept;

    CameraPool& pool_;
    source::PacketSink& sink_;
    wire::camera::Header header_;  // what all fragments share
    CameraPayload payload_;
    source::FaultsConfig faults_;
    wire::Crc32cJoin join_;
    std::vector<Board> boards_;
    source::PacketSlots copies_;       // of fragments that are held or corrupted
    std::vector<std::uint32_t> done_;  // copies that are free once the batch is handed over
    std::vector<std::byte> markers_;   // one per board
    Nanoseconds wall_ns_ = 0;
    std::uint64_t n_sends_ = 0;
    std::uint32_t n_triggers_ = 0;  // that the batch holds fragments of, at most
    std::size_t n_out_ = 0;
    std::array<source::OutgoingDatagram, source::PacketSink::max_batch> out_;
    std::array<source::SendResult, source::PacketSink::max_batch> results_;
};

}  // namespace anello::camera
