// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/counters/event_slot.hpp"

namespace anello {

/// As EventSlot::take(), of a slot in another process, which can only be copied: copy(offset, to, n_bytes) copies some
/// of its bytes. What was written meanwhile is copied again.
template <typename Copy>
std::optional<EventSlot::Event> take_copied(const Copy& copy) {
    auto slot = std::make_unique<EventSlot>();
    for (int i = 0; i < 16; ++i) {
        std::uint64_t n_before = 0, n_behind = 0;  // of the writes, with which a slot begins
        copy(0, &n_before, sizeof n_before);
        copy(0, slot.get(), sizeof(EventSlot));
        copy(0, &n_behind, sizeof n_behind);
        if (n_before % 2 == 0 && n_before == n_behind) return slot->take();
    }
    return std::nullopt;
}

}  // namespace anello
