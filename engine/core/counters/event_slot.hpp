// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"

namespace anello {

/// The last event, for displays. It is a sequence lock: the writer never waits, and a reader reads again if the event
/// was overwritten. One writing thread, any number of readers, also in other processes.
class EventSlot {
  public:
    static constexpr std::size_t max_bytes = 65'536, max_kind = 15;
    static constexpr Nanoseconds shortest_gap_ns = 100'000'000;

    struct Event {
        std::string kind;  ///< what the payload is: docs/reference/counter-page.md
        Nanoseconds wall_ns;
        std::vector<std::byte> payload;
    };

    // Hot path: no allocation, no lock, no log, no throw.
    /// True if a new event is due. Ask before preparing one, since that takes longer.
    bool wants(Nanoseconds wall_ns) const noexcept {
        const Nanoseconds since_ns = wall_ns - wall_ns_.load(std::memory_order_relaxed);
        return since_ns >= shortest_gap_ns || since_ns <= -shortest_gap_ns;
    }
    /// Ignores a payload of more than max_bytes.
    void put(std::string_view kind, Nanoseconds wall_ns, std::span<const std::byte> payload) noexcept;

    /// Nothing if there is no event, if every try was overwritten, or if this is not a valid slot.
    std::optional<Event> take() const;

  private:
    using Word = std::atomic<std::uint64_t>;
    Word n_writes_{0};  ///< odd during a write
    std::atomic<Nanoseconds> wall_ns_{0};
    Word n_bytes_{0};
    std::array<Word, 2> kind_{};
    std::array<Word, max_bytes / sizeof(Word)> words_{};
};

}  // namespace anello
