// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "camera/events/event.hpp"

namespace anello::camera {

/// The events handed on last, with the boards whose fragments arrived: a fragment that arrives again is known as a
/// repetition. Hot path (all but the constructor): no allocation, no lock, no log, no throw.
class GoneEvents {
  public:
    explicit GoneEvents(std::size_t n_events) : events_(n_events) {}

    void add(std::uint32_t number, std::uint64_t timestamp_ns, const BoardSet& present) noexcept {
        events_[number % events_.size()] = {number, true, timestamp_ns, present};
    }
    void note_late(std::uint32_t number, std::uint32_t board) noexcept;
    /// True if a fragment of this board with this time arrived for this event.
    bool contain(std::uint32_t number, std::uint32_t board, std::uint64_t timestamp_ns) const noexcept;

  private:
    struct Gone {
        std::uint32_t number = 0;
        bool is_known = false;
        std::uint64_t timestamp_ns = 0;
        BoardSet came{};  ///< boards of which it has the fragment, or whose fragment was late
    };

    std::vector<Gone> events_;  ///< event n is at n mod its size
};

}  // namespace anello::camera
