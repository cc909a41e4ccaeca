// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/counters/event_slot.hpp"

namespace anello {

/// Like EventSlot::take(), for a slot in another process that can only be copied: copy(offset, to, n_bytes) copies some
/// of its bytes. An event that was overwritten during the copy is copied again.
template <typename Copy>
std::optional<EventSlot::Event> take_copied(const Copy& copy) {
    auto slot = std::make_unique<EventSlot>();
    for (int i = 0; i < 16; ++i) {
        std::uint64_t n_before = 0, n_after = 0;  // number of writes, at the start of a slot
        copy(0, &n_before, sizeof n_before);
        copy(0, slot.get(), sizeof(EventSlot));
        copy(0, &n_after, sizeof n_after);
        if (n_before % 2 == 0 && n_before == n_after) return slot->take();
    }
    return std::nullopt;
}

}  // namespace anello
