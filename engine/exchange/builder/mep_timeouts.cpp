// SPDX-License-Identifier: Apache-2.0
#include "exchange/builder/mep_timeouts.hpp"

namespace anello::exchange {

/// A new slot may be the only one: then the time to wait for the first part of any MEP starts with it.
void MepTimeouts::note_open() noexcept {
    if (slots_.n_used() == 1) heard_ns_ = clock_.monotonic_ns();
    next_deadline_ns_ = std::min(next_deadline_ns_, silent_until_ns());
}

void MepTimeouts::begin(std::uint64_t mep) noexcept {
    const Nanoseconds now_ns = heard_ns_ = clock_.monotonic_ns();
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
        MepSlots::Slot& slot = slots_[i];
        if (slot.state != MepSlots::Slot::State::open || slot.begun_ns != 0 || slot.mep > mep) continue;
        slot.begun_ns = now_ns;
        slot.deadline_ns = now_ns + timeout_ns_;
        next_deadline_ns_ = std::min(next_deadline_ns_, slot.deadline_ns);
    }
}

/// The first part of any MEP is awaited for some time-outs only: later, it may have been lost with a connection.
Nanoseconds MepTimeouts::silent_until_ns() const noexcept {
    constexpr Nanoseconds silent_timeouts = 10;
    return heard_ns_ + silent_timeouts * timeout_ns_;
}

}  // namespace anello::exchange
