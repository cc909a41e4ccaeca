// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/clock.hpp"
#include "exchange/builder/mep_slots.hpp"

namespace anello::exchange {

/// When a builder unit stops waiting for the missing parts of an MEP.
class MepTimeouts {
  public:
    static constexpr Nanoseconds never_ns = std::numeric_limits<Nanoseconds>::max();

    /// All arguments must outlive the object.
    MepTimeouts(Nanoseconds timeout_ns, MepSlots& slots, const Clock& clock)
        : timeout_ns_(timeout_ns), slots_(slots), clock_(clock) {}

    // Hot path: no allocation, no lock, no log, no throw.
    /// A slot was opened.
    void note_open() noexcept;
    /// A part of this MEP arrived.
    void begin_with(std::uint32_t slot) noexcept {
        if (slots_[slot].begun_ns == 0) begin(slots_[slot].mep);
    }
    /// Starts the time-out of all MEPs up to this one, as sources send in the order of MEPs. MEPs that are assigned
    /// before there are data wait for them.
    void begin(std::uint64_t mep) noexcept;
    void begin_all() noexcept { begin(std::numeric_limits<std::uint64_t>::max()); }
    /// Calls `close(slot)` for each open slot whose time is over; close() must not open another one.
    template <typename Close>
    void for_each_overdue(Nanoseconds now_ns, Close close) noexcept;
    /// When a slot is overdue at the earliest; never_ns if there is none.
    Nanoseconds next_deadline_ns() const noexcept { return next_deadline_ns_; }

  private:
    Nanoseconds silent_until_ns() const noexcept;

    const Nanoseconds timeout_ns_;
    MepSlots& slots_;
    const Clock& clock_;
    Nanoseconds next_deadline_ns_ = never_ns;
    /// when the first part of an MEP arrived, or the first slot was opened
    Nanoseconds heard_ns_ = 0;
};

template <typename Close>
void MepTimeouts::for_each_overdue(Nanoseconds now_ns, Close close) noexcept {
    if (now_ns < next_deadline_ns_) return;
    if (slots_.n_used() > 0 && now_ns >= silent_until_ns()) begin_all();
    next_deadline_ns_ = never_ns;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].state != MepSlots::Slot::State::open) continue;
        const Nanoseconds until_ns = slots_[slot].begun_ns != 0 ? slots_[slot].deadline_ns : silent_until_ns();
        if (now_ns >= until_ns)
            close(slot);
        else
            next_deadline_ns_ = std::min(next_deadline_ns_, until_ns);
    }
}

}  // namespace anello::exchange
