// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "receive/boards/fragment_block.hpp"

namespace anello::receive {

/// Tracks which burst a stream is in, and which bursts it has reported to the builder as ended. All functions are hot
/// path.
class BurstFollower {
  public:
    /// Burst numbers up to this much below the current one are late; any other change is a new burst.
    static constexpr std::int32_t late_bursts = 16;

    bool has_burst() const noexcept { return has_burst_; }
    std::uint32_t burst_id() const noexcept { return burst_id_; }
    bool is_new(std::uint32_t burst_id) const noexcept {
        if (!has_burst_) return true;
        const auto step = static_cast<std::int32_t>(burst_id - burst_id_);
        return step > 0 || step < -late_bursts;
    }
    void enter(std::uint32_t burst_id) noexcept {
        has_burst_ = true;
        has_data_ = false;
        burst_id_ = burst_id;
    }
    /// True if packets of the current burst were used.
    bool has_data() const noexcept { return has_data_; }
    void note_data(std::uint32_t burst_id) noexcept { has_data_ |= burst_id == burst_id_; }

    bool has_ended(std::uint32_t burst_id) const noexcept {
        return std::find(ended_.begin(), ended_.begin() + n_known(), burst_id) != ended_.begin() + n_known();
    }
    /// True for the first end of each burst.
    bool note_end(std::uint32_t burst_id) noexcept {
        if (has_ended(burst_id)) return false;
        ended_[n_ended_++ % ended_.size()] = burst_id;
        return true;
    }
    /// The source has restarted, so its burst numbers may repeat.
    void forget() noexcept { *this = BurstFollower{}; }

  private:
    std::ptrdiff_t n_known() const noexcept { return static_cast<std::ptrdiff_t>(std::min(n_ended_, ended_.size())); }

    std::array<std::uint32_t, late_bursts> ended_{};
    std::size_t n_ended_ = 0;
    std::uint32_t burst_id_ = 0;
    bool has_burst_ = false;
    bool has_data_ = false;
};

struct EndNotice {
    std::uint32_t burst_id = 0;
    CloseReason reason = CloseReason::end_of_burst;
};

/// Ends of bursts that wait for a buffer to carry them, oldest first. All functions are hot path.
class WaitingEnds {
  public:
    bool empty() const noexcept { return n_waiting_ == 0; }
    const EndNotice& oldest() const noexcept { return waiting_[first_ % waiting_.size()]; }
    bool try_add(const EndNotice& notice) noexcept {
        if (n_waiting_ == waiting_.size()) return false;
        waiting_[(first_ + n_waiting_++) % waiting_.size()] = notice;
        return true;
    }
    void remove_oldest() noexcept {
        ++first_;
        --n_waiting_;
    }

  private:
    std::array<EndNotice, 16> waiting_{};
    std::size_t first_ = 0, n_waiting_ = 0;
};

}  // namespace anello::receive
