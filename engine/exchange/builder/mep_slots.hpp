// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/assert.hpp"
#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "exchange/builder/mfp_senders.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/exchange_counters.hpp"
#include "exchange/messages/messages.hpp"
#include "memory/persistent_buffers.hpp"

namespace anello::exchange {

/// The slots of a builder unit, each with a place for the MFP of each readout unit, and the state of each MFP. A slot
/// is used again and again; its use number distinguishes the MEPs that it holds in turn, so that late data of an
/// earlier use get no place. Memory is allocated in the constructor.
class MepSlots {
  public:
    /// State of one readout unit's part of an MEP.
    enum class Part : std::uint8_t {
        not_expected,  ///< its readout unit is gone, or not there yet: not awaited, and missing at the end
        awaited,
        arriving,  ///< it has a place, which the transport owns
        arrived,
        missing,
        abandoned,  ///< missing, but the transport still owns its place
    };
    struct Slot {
        enum class State : std::uint8_t { free, open, ready, with_sink, over } state = State::free;
        bool is_assigned = false;  ///< the manager assigned it; an MFP alone may open a slot earlier
        std::uint64_t mep = 0;
        std::uint32_t use = 0;
        std::uint32_t n_awaited = 0;  ///< parts awaited or arriving
        std::uint32_t n_places = 0;   ///< parts arriving or abandoned
        std::uint32_t n_missing = 0;
        /// monotonic time when its time-out started; 0: no part of it, or of a later MEP, arrived
        Nanoseconds begun_ns = 0;
        Nanoseconds deadline_ns = 0;  ///< valid once it has begun
        Nanoseconds ready_ns = 0;     ///< earliest time in its MFPs, wall clock; 0: none

        bool is_whole() const noexcept { return state == State::open && is_assigned && n_awaited == 0; }
    };

    /// Throws ConfigError and SystemError. `first_use`: all use numbers begin with it.
    MepSlots(const ExchangeConfig& config, memory::Kind memory, std::uint32_t first_use,
             Counters<BuilderCounter> counters);

    // Hot path: no allocation, no lock, no log, no throw.
    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
    std::uint32_t n_used() const noexcept { return n_used_; }
    std::size_t n_readouts() const noexcept { return n_readouts_; }
    Slot& operator[](std::uint32_t slot) noexcept { return slots_[slot]; }
    const Slot& operator[](std::uint32_t slot) const noexcept { return slots_[slot]; }
    Part part(std::uint32_t slot, std::size_t readout) const noexcept { return parts_[slot * n_readouts_ + readout]; }
    /// The MFPs of an MEP by readout unit; empty where there is none.
    std::span<const std::span<const std::byte>> mfps(std::uint32_t slot) const noexcept {
        return std::span(mfps_).subspan(slot * n_readouts_, n_readouts_);
    }
    /// The message is for a slot of this builder, and for its present use or an earlier one.
    bool knows(const MessageHeader& header) const noexcept {
        return header.slot < slots_.size() && !is_before(slots_[header.slot].use, header.use);
    }
    /// The message is for an earlier use of a slot that knows() it.
    bool is_late(const MessageHeader& header) const noexcept { return is_before(header.use, slots_[header.slot].use); }

    void open(std::uint32_t slot, std::uint64_t mep, bool is_assigned) noexcept;
    /// Awaits the parts of all units that read out this MEP; a part whose unit has no connection is missing at once.
    void expect(std::uint32_t slot, const MfpSenders& senders) noexcept;
    /// Awaits this part, even if the manager has not said yet that its unit reads out: its data arrived earlier.
    void await(std::uint32_t slot, std::size_t readout) noexcept;
    /// Gives the transport the place of a part that is awaited, or not expected.
    std::span<std::byte> give_place(std::uint32_t slot, std::size_t readout, std::size_t length_bytes) noexcept;
    /// The transport returns the place. True: the part is awaited, so the caller fills it or marks it as missing.
    bool take_place_back(std::uint32_t slot, std::size_t readout) noexcept;
    void fill(std::uint32_t slot, std::size_t readout, std::span<const std::byte> mfp, Nanoseconds ready_ns) noexcept;
    /// Marks an awaited or arriving MFP as missing for the time when its MEP is passed on.
    void miss(std::uint32_t slot, std::size_t readout, BuilderCounter why) noexcept;
    /// The same for a part that may be in any state; only an awaited or arriving one changes.
    void miss_if_awaited(std::uint32_t slot, std::size_t readout, BuilderCounter why) noexcept;
    /// The connection is lost: this builder owns the place again, and nothing more will arrive.
    void cut(std::uint32_t slot, std::size_t readout) noexcept;
    /// Nothing more is awaited for this MEP.
    void close(std::uint32_t slot) noexcept;
    /// Frees a slot once the next stage has returned it and no transport can write into it any more. It then has its
    /// next use number, and still the outcome of its last MEP.
    bool try_free(std::uint32_t slot) noexcept;

    std::string describe() const;

  private:
    /// Use numbers wrap.
    static bool is_before(std::uint32_t use, std::uint32_t other) noexcept {
        return static_cast<std::int32_t>(use - other) < 0;
    }
    Part& part_at(std::uint32_t slot, std::size_t readout) noexcept { return parts_[slot * n_readouts_ + readout]; }

    const std::size_t n_readouts_;
    Counters<BuilderCounter> counters_;
    memory::PersistentBuffers memory_;
    std::vector<Slot> slots_;
    std::vector<Part> parts_;                       ///< [slot][readout]
    std::vector<std::span<const std::byte>> mfps_;  ///< [slot][readout]
    std::uint32_t n_used_ = 0;
};

inline void MepSlots::await(std::uint32_t slot, std::size_t readout) noexcept {
    Part& mine = part_at(slot, readout);
    if (mine != Part::not_expected) return;
    mine = Part::awaited;
    ++slots_[slot].n_awaited;
}

inline std::span<std::byte> MepSlots::give_place(std::uint32_t slot, std::size_t readout,
                                                 std::size_t length_bytes) noexcept {
    await(slot, readout);
    part_at(slot, readout) = Part::arriving;
    ++slots_[slot].n_places;
    return memory_.bytes(static_cast<std::uint32_t>(slot * n_readouts_ + readout)).first(length_bytes);
}

inline bool MepSlots::take_place_back(std::uint32_t slot, std::size_t readout) noexcept {
    Part& mine = part_at(slot, readout);
    ANELLO_ASSERT(slots_[slot].n_places > 0 && (mine == Part::arriving || mine == Part::abandoned));
    --slots_[slot].n_places;
    const bool is_awaited = mine == Part::arriving;
    mine = is_awaited ? Part::awaited : Part::missing;
    return is_awaited;
}

inline void MepSlots::fill(std::uint32_t slot, std::size_t readout, std::span<const std::byte> mfp,
                           Nanoseconds ready_ns) noexcept {
    Slot& filled = slots_[slot];
    part_at(slot, readout) = Part::arrived;
    --filled.n_awaited;
    mfps_[slot * n_readouts_ + readout] = mfp;
    if (ready_ns > 0 && (filled.ready_ns == 0 || ready_ns < filled.ready_ns)) filled.ready_ns = ready_ns;
}

}  // namespace anello::exchange
