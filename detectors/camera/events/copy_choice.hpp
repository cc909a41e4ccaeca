// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "camera/events/copy.hpp"
#include "core/clock.hpp"
#include "core/words.hpp"

namespace anello::camera {

/// How fragments get into event memory: plain copies, copies that prefetch the destination, or stores that bypass the
/// cache. `automatic` takes the one that costs the traffic least, see CameraCopyChoice.
enum class CopyMode : std::uint8_t { automatic, plain, ahead, non_temporal };

const char* name_of(CopyMode mode) noexcept;

/// Which way of copying is in use. With `automatic` each is tried on the traffic that flows, several times in turn, and
/// judged by what the whole step costs, reading from the kernel and handing on included: a copy that is cheap by itself
/// may cost those. Tried again now and then, since it depends on how many events are in use.
///
/// PERF NOTE: no rule and no trial at set-up found it: 8 kB took 1722 ns per datagram ahead and 1185 past the cache on
/// one machine, 2487 ahead and 3046 past it on another (camera_receive).
class CameraCopyChoice {
  public:
    static constexpr std::size_t n_ways = 3;
    static constexpr std::uint32_t steps_per_turn = 64,
                                   n_turns = 9;                  ///< of a trial; of each turn the second half counts
    static constexpr std::uint32_t steps_between = 1U << 16;     ///< trials
    static constexpr std::uint64_t least_step_bytes = 16 << 10;  ///< a smaller step says nothing

    explicit CameraCopyChoice(CopyMode mode) noexcept;

    // Hot path: no allocation, no lock, no log, no throw.
    CopyFunction current() const noexcept { return current_; }
    bool passes_cache(CopyFunction copy) const noexcept { return copy == ways_[2]; }
    /// Before each step: the time, and how many bytes have been taken so far.
    void look(Nanoseconds now_ns, std::uint64_t n_bytes) noexcept {
        const Nanoseconds took_ns = now_ns - looked_ns_;
        const std::uint64_t n_new = n_bytes - n_bytes_;
        looked_ns_ = now_ns;
        n_bytes_ = n_bytes;
        if (is_automatic_ && n_new >= least_step_bytes) note(took_ns, n_new);
    }

    /// Any thread.
    CopyMode chosen() const noexcept { return chosen_.load(std::memory_order_relaxed); }  ///< automatic: not yet
    std::string describe() const;

  private:
    void note(Nanoseconds took_ns, std::uint64_t n_bytes) noexcept;
    void end_turn() noexcept;
    void choose() noexcept;

    std::array<CopyFunction, n_ways> ways_;
    CopyFunction current_;
    bool is_automatic_;
    std::uint32_t step_ = 0, turn_ = 0;
    Nanoseconds looked_ns_ = 0, turn_ns_ = 0;
    std::uint64_t n_bytes_ = 0, turn_bytes_ = 0;
    std::array<double, n_ways> best_ns_per_byte_{};
    std::array<std::atomic<float>, n_ways> shown_ns_per_byte_{};
    std::atomic<CopyMode> chosen_;
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<const char*, 4> words_of<camera::CopyMode>{"auto", "plain", "ahead", "non_temporal"};

}  // namespace anello
