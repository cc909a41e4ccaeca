// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "receive/boards/unpacker.hpp"

namespace anello::receive {

/// Sums what a source has announced in its markers, and what arrived without being announced, as when a source ends
/// within a burst. All functions are hot path.
class Announcements {
  public:
    /// Adds a packet that was used: placed, or dropped because there was no buffer.
    void add(std::uint32_t burst_id, std::uint64_t n_fragments, std::uint64_t n_hits) noexcept {
        if (knows_last_ && is_at_most(burst_id, last_burst_)) return;
        if (!is_at_most(burst_id, newest_burst_)) begin_newest(burst_id);
        AnnouncedTotals& of = burst_id == newest_burst_ ? newest_ : older_;
        of.n_fragments += n_fragments;
        of.n_hits += n_hits;
    }
    /// The totals of this epoch include all bursts up to `last_burst`, and none after it.
    void announce(const AnnouncedTotals& totals, std::uint32_t last_burst) noexcept {
        totals_ = totals;
        knows_last_ = true;
        last_burst_ = last_burst;
        older_ = {};
        if (is_at_most(newest_burst_, last_burst)) newest_ = {};
    }
    /// The source counts from zero again, and its burst numbers may repeat.
    void begin_epoch() noexcept {
        const Announcements ended = *this;
        *this = Announcements{};
        totals_before_ = ended.announced();
        left_before_ = ended.unannounced();
    }

    const AnnouncedTotals& of_epoch() const noexcept { return totals_; }
    AnnouncedTotals announced() const noexcept { return sum(totals_before_, totals_); }
    /// Totals that arrived without being announced (packets are not counted here).
    AnnouncedTotals unannounced() const noexcept { return sum(left_before_, sum(older_, newest_)); }

  private:
    static bool is_at_most(std::uint32_t burst, std::uint32_t other) noexcept {
        return static_cast<std::int32_t>(burst - other) <= 0;
    }
    static AnnouncedTotals sum(const AnnouncedTotals& a, const AnnouncedTotals& b) noexcept {
        return {a.n_packets + b.n_packets, a.n_fragments + b.n_fragments, a.n_hits + b.n_hits};
    }
    void begin_newest(std::uint32_t burst_id) noexcept {
        older_ = sum(older_, newest_);
        newest_ = {};
        newest_burst_ = burst_id;
    }

    AnnouncedTotals totals_, totals_before_;        ///< in this epoch, and in those before
    AnnouncedTotals newest_, older_, left_before_;  ///< not announced: newest burst, this epoch, earlier epochs
    std::uint32_t newest_burst_ = 0, last_burst_ = 0;
    bool knows_last_ = false;
};

}  // namespace anello::receive
