// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/clock.hpp"
#include "source/truth_log.hpp"

namespace anello::source {

/// What boards send, and when: one packet after the other. The sending thread calls all members but truth().
/// Hot path: no allocation, no lock, no log, no throw.
class PacketPlan {
  public:
    struct Packet {
        Nanoseconds due_ns = 0;          ///< since the source's start
        std::uint32_t stream = 0;        ///< place of its board among the source's
        std::uint64_t step = 0;          ///< an event, slice, burst or the like: boards die at one of them
        std::uint32_t epoch = 0;         ///< numbers begin anew with each
        std::uint64_t first_number = 0;  ///< in the board's sequence, for the ledger
        std::uint32_t n_numbers = 1;
        std::uint32_t n_fragments = 1;  ///< 0: a marker; it has no number and suffers no fault
        std::uint32_t n_hits = 0;
        bool is_marker() const noexcept { return n_fragments == 0; }
    };
    enum class Next : std::uint8_t { packet, later, none };

    /// Counters: "source". It counts its events and bursts in them.
    explicit PacketPlan(CounterPage& page, const TruthLog::Limits& truth = {})
        : counters_(page.add_block<GeneratorCounter>("source")), truth_(truth, counters_) {}
    PacketPlan(const PacketPlan&) = delete;
    PacketPlan& operator=(const PacketPlan&) = delete;
    virtual ~PacketPlan() = default;

    /// The packet that is due next, if that is not after `until_ns` since the source's start. later: `packet` says when
    /// to ask again, and is a marker where being late costs no data; or the plan has no memory until left(). none:
    /// there are no more.
    virtual Next next(Nanoseconds until_ns, Packet& packet) noexcept = 0;
    /// The datagram of the packet that next() gave last: in `room`, or in memory of the plan that is not used again
    /// before left().
    virtual std::span<const std::byte> write(const Packet& packet, Nanoseconds wall_ns,
                                             std::span<std::byte> room) noexcept = 0;
    /// All that was written has left.
    virtual void left() noexcept {}
    /// What has begun is to end in order, and nothing else to begin. May be called again.
    virtual void stop() noexcept = 0;

    const Counters<GeneratorCounter>& counters() const noexcept { return counters_; }
    std::span<const TruthSample> truth() const noexcept { return truth_.samples(); }  ///< From any thread.

  protected:
    Counters<GeneratorCounter> counters_;
    TruthLog truth_;
};

}  // namespace anello::source
