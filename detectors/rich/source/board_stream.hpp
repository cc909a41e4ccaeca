// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rich/source/event_pool.hpp"
#include "rich/source/packet_slots.hpp"
#include "rich/wire/mep.hpp"
#include "wire/mgp.hpp"

namespace anello::rich {

/// One board: fills packets with its fragments and puts closed packets into a queue. It counts what it makes.
class BoardStream {
  public:
    struct Limits {
        std::uint32_t max_events_per_packet;
        std::uint64_t flush_fine;  ///< longest time between the first and last event of a packet
        std::uint8_t flags;        ///< mgp::hits_with_time, mgp::with_checksum
    };

    BoardStream(std::uint32_t stream, std::uint16_t board, const Limits& limits, const EventPool& pool,
                PacketSlots& slots, std::vector<ClosedPacket>& closed) noexcept;

    // Hot path: no allocation, no lock, no log, no throw.
    /// Begins a burst: events are numbered from 0, and with mgp a marker is queued (NA62's format has none).
    void begin_burst(std::uint32_t burst_id) noexcept;
    void add(std::uint32_t pool_event, std::uint64_t time_fine) noexcept;
    /// Closes the packet if it is too old for later events. The caller has added all events before this time.
    void flush_older_than(std::uint64_t time_fine) noexcept {
        if (is_open_ && time_fine >= first_fine_ + limits_.flush_fine) close();
    }
    /// Time at which the open packet will be too old, or a packet that an event of this time would begin.
    std::uint64_t due_fine(std::uint64_t next_fine) const noexcept {
        return (is_open_ ? first_fine_ : next_fine) + limits_.flush_fine;
    }
    void close() noexcept;  ///< Closes the open packet, if there is one.
    void queue_end_of_burst(std::uint64_t time_fine) noexcept;
    const wire::mgp::Totals& totals() const noexcept { return totals_; }

  private:
    void open(std::uint64_t time_fine) noexcept;
    void add_mgp(std::uint32_t pool_event, std::uint64_t time_fine) noexcept;
    void add_mep(std::uint32_t pool_event, std::uint64_t time_fine) noexcept;
    bool try_write_mep(std::uint32_t pool_event, std::uint64_t time_fine) noexcept;
    void queue_mgp_marker(std::uint8_t which) noexcept;
    void queue_mep_end_of_burst(std::uint64_t time_fine) noexcept;
    void queue_marker(std::uint32_t slot, std::size_t length_bytes, std::uint8_t flags) noexcept;

    std::uint32_t stream_;
    std::uint16_t board_;
    Limits limits_;
    const EventPool& pool_;
    PacketSlots& slots_;
    std::vector<ClosedPacket>& closed_;
    wire::mgp::Totals totals_;
    std::uint32_t burst_id_ = 0, sequence_ = 0, event_number_ = 0, n_bursts_begun_ = 0;

    bool is_open_ = false;
    std::uint32_t slot_ = 0, n_fragments_ = 0, n_hits_ = 0;
    std::size_t n_bytes_ = 0;  // size of the open packet with its header
    std::uint64_t first_fine_ = 0;
    std::optional<wire::mep::PacketWriter> mep_;
};

}  // namespace anello::rich
