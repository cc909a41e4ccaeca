// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "camera/events/copy.hpp"
#include "core/clock.hpp"
#include "core/thread.hpp"
#include "core/words.hpp"

namespace anello::camera {

/// How fragments get into event memory: plain copies, copies that prefetch the destination, or stores that bypass the
/// cache. `automatic` takes the one that costs the traffic least, see CameraCopyChoice.
enum class CopyMode : std::uint8_t { automatic, plain, ahead, non_temporal };

const char* name_of(CopyMode mode) noexcept;

/// Which way of copying is in use. With `automatic` each is tried on the traffic that flows, several times in turn, and
/// judged by the thread's CPU time for the whole step, reading from the kernel and handing on included: a copy that is
/// cheap by itself may cost those. Tried again when datagrams come in another size or number, and now and then, since
/// it depends on how many events are in use.
///
/// PERF NOTE: no rule and no trial at set-up found it: 8 kB took 1722 ns per datagram ahead and 1185 past the cache on
/// one machine, 2487 ahead and 3046 past it on another (camera_receive).
class CameraCopyChoice {
  public:
    static constexpr std::size_t n_ways = 3;
    static constexpr std::uint32_t steps_per_turn = 64,
                                   n_turns = 9;                  ///< of a trial; of each turn the second half counts
    static constexpr std::uint32_t steps_between = 1U << 16;     ///< trials, of the same traffic
    static constexpr std::uint32_t steps_per_block = 2048;       ///< whose mean says whether it is the same
    static constexpr std::uint64_t least_step_bytes = 16 << 10;  ///< a smaller step says nothing
    static constexpr std::uint32_t small_steps_timed = 16;       ///< after so many in turn the clock is not asked

    /// cpu_ns: of the thread that copies; a system call, so asked during trials only, and while enough comes at a time.
    using CpuClock = Nanoseconds (*)() noexcept;
    explicit CameraCopyChoice(CopyMode mode, CpuClock cpu_ns = thread_cpu_ns) noexcept;

    // Hot path: no allocation, no lock, no log, no throw.
    CopyFunction current() const noexcept { return current_; }
    bool passes_cache(CopyFunction copy) const noexcept { return copy == ways_[2]; }
    /// Before each step: how much has been taken so far.
    void look(std::uint64_t n_bytes, std::uint64_t n_datagrams) noexcept {
        if (!is_automatic_) return;
        const Amount taken{n_bytes - seen_.bytes, n_datagrams - seen_.datagrams};
        seen_ = {n_bytes, n_datagrams};
        if (is_trying())
            try_step(taken);
        else if (taken.bytes >= least_step_bytes)
            watch(taken);
    }

    /// Any thread.
    CopyMode chosen() const noexcept { return chosen_.load(std::memory_order_relaxed); }  ///< automatic: not yet
    std::string describe() const;

  private:
    enum class Reason : std::uint8_t { start, time, traffic };  ///< of a trial
    struct Amount {
        std::uint64_t bytes = 0, datagrams = 0;
        void add(const Amount& more) noexcept {
            bytes += more.bytes;
            datagrams += more.datagrams;
        }
        bool is_like(const Amount& other) const noexcept;
    };

    bool is_trying() const noexcept { return turn_ < n_turns; }
    void try_step(const Amount& taken) noexcept;
    void watch(const Amount& taken) noexcept;
    void begin_trial(Reason reason) noexcept;
    void end_turn() noexcept;
    void choose() noexcept;

    std::array<CopyFunction, n_ways> ways_;
    CopyFunction current_;
    bool is_automatic_;
    CpuClock cpu_ns_;
    std::uint32_t step_ = 0, turn_ = 0;
    static constexpr Nanoseconds unknown_ns = -1;
    std::uint32_t n_small_ = 0;
    Nanoseconds looked_ns_ = unknown_ns, turn_ns_ = 0;
    std::uint64_t turn_bytes_ = 0;
    Amount seen_, block_, usual_;  ///< usual: of the first block after a trial
    Reason reason_ = Reason::start;
    std::array<double, n_ways> best_ns_per_byte_{};
    std::array<std::atomic<float>, n_ways> shown_ns_per_byte_{};
    std::atomic<CopyMode> chosen_;
    std::atomic<std::uint32_t> n_trials_{0};
    std::atomic<Reason> shown_reason_{Reason::start};
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<const char*, 4> words_of<camera::CopyMode>{"auto", "plain", "ahead", "non_temporal"};

}  // namespace anello
