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

/// The last event, for whoever wants to draw it: a sequence lock, so that the writer never waits, and a reader takes it
/// again when it was written meanwhile. One writing thread, any number of readers, also in other processes.
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
    /// Whether one is due; asked first, as filling it takes longer than asking.
    bool wants(Nanoseconds wall_ns) const noexcept {
        const Nanoseconds since_ns = wall_ns - wall_ns_.load(std::memory_order_relaxed);
        return since_ns >= shortest_gap_ns || since_ns <= -shortest_gap_ns;
    }
    /// Of more than max_bytes nothing is taken.
    void put(std::string_view kind, Nanoseconds wall_ns, std::span<const std::byte> payload) noexcept;

    /// Nothing where there is none, where it was written all the time, or where it is no slot at all.
    std::optional<Event> take() const;

  private:
    using Word = std::atomic<std::uint64_t>;
    Word n_writes_{0};  ///< odd while one is written
    std::atomic<Nanoseconds> wall_ns_{0};
    Word n_bytes_{0};
    std::array<Word, 2> kind_{};
    std::array<Word, max_bytes / sizeof(Word)> words_{};
};

}  // namespace anello
