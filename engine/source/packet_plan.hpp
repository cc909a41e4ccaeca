// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/clock.hpp"
#include "source/truth_log.hpp"

namespace anello::source {

/// Defines what boards send, and when: one packet after the other. The sending thread calls all members but truth().
/// Hot path: no allocation, no lock, no log, no throw.
class PacketPlan {
  public:
    struct Packet {
        Nanoseconds due_ns = 0;          ///< since the source's start
        std::uint32_t stream = 0;        ///< index of its board in the source
        std::uint64_t step = 0;          ///< an event, slice, burst or similar unit; a board can die at one of them
        std::uint32_t epoch = 0;         ///< the sequence numbers restart with each epoch
        std::uint64_t first_number = 0;  ///< in the board's sequence, for the ledger
        std::uint32_t n_numbers = 1;
        std::uint32_t n_fragments = 1;  ///< 0: a marker; it has no number and suffers no fault
        std::uint32_t n_hits = 0;
        bool is_marker() const noexcept { return n_fragments == 0; }
    };
    enum class Next : std::uint8_t { packet, later, none };

    /// Counters: "source". The plan counts its events and bursts in them.
    explicit PacketPlan(CounterPage& page, const TruthLog::Limits& truth = {})
        : counters_(page.add_block<GeneratorCounter>("source")), truth_(truth, counters_) {}
    PacketPlan(const PacketPlan&) = delete;
    PacketPlan& operator=(const PacketPlan&) = delete;
    virtual ~PacketPlan() = default;

    /// Gives the packet that is due next, if that is not after `until_ns` since the source's start. later:
    /// `packet.due_ns` says when to ask again, and the packet is a marker if a delay of it costs no data; or the plan
    /// has no memory until left(). none: there are no more packets.
    virtual Next next(Nanoseconds until_ns, Packet& packet) noexcept = 0;
    /// Returns the datagram of the packet that next() gave last: in `room`, or in memory of the plan that is not reused
    /// before left().
    virtual std::span<const std::byte> write(const Packet& packet, Nanoseconds wall_ns,
                                             std::span<std::byte> room) noexcept = 0;
    /// All datagrams that were written are sent.
    virtual void left() noexcept {}
    /// Packets of a step that has begun are still sent in order, and no other step begins. May be called again.
    virtual void stop() noexcept = 0;

    const Counters<GeneratorCounter>& counters() const noexcept { return counters_; }
    std::span<const TruthSample> truth() const noexcept { return truth_.samples(); }  ///< Any thread may call it.

  protected:
    Counters<GeneratorCounter> counters_;
    TruthLog truth_;
};

}  // namespace anello::source
