// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "camera/events/copy.hpp"
#include "core/clock.hpp"
#include "core/thread.hpp"
#include "core/words.hpp"
#include "receive/datagrams/backend.hpp"

namespace anello::camera {

/// How fragments are copied into event memory: plain copies, copies that prefetch the destination, or stores that
/// bypass the cache. `automatic` takes the cheapest for the present traffic, see CameraIntakeChoice.
enum class CopyMode : std::uint8_t { automatic, plain, ahead, non_temporal };

const char* name_of(CopyMode mode) noexcept;

/// Chooses the way of fragments from the system to event memory: the copy method, and the size of one system call. With
/// `automatic` it tries each way on the present traffic, several times in turn, and measures the thread's CPU time for
/// the whole step, with reading from the kernel and handing on: a copy that is cheap by itself may slow those down. It
/// tries again when datagrams arrive in another size or number, and at intervals, as the best way depends on the number
/// of events in use.
///
/// PERF NOTE: no rule and no trial at set-up found the best. 8 kB took 1722 ns ahead and 1185 ns past the cache on
/// one machine, 2487 ahead and 3046 past it on another; four of them per call had 0.81 of the rate of recvmmsg, sixteen
/// 0.86 (camera_receive batch=4 and batch=16).
class CameraIntakeChoice {
  public:
    static constexpr std::array<std::size_t, 3> call_sizes{32 << 10, receive::usual_call_bytes, 512 << 10};
    static constexpr std::size_t n_copies = 3, usual_size = 1, n_ways = n_copies * call_sizes.size();
    static constexpr std::uint32_t steps_per_turn = 64,
                                   turns_per_way = 3;            ///< in a trial; the second half of each turn counts
    static constexpr std::uint32_t steps_between = 1U << 16;     ///< steps between trials, if traffic is the same
    static constexpr std::uint32_t steps_per_block = 2048;       ///< their mean tells whether traffic is the same
    static constexpr std::uint64_t least_step_bytes = 16 << 10;  ///< smaller steps are not measured
    static constexpr std::uint32_t small_steps_timed = 16;       ///< small steps in a row until the clock is not read

    /// cpu_ns: CPU time of the thread that copies. It is a system call, so it is read only in trials with enough data.
    using CpuClock = Nanoseconds (*)() noexcept;
    explicit CameraIntakeChoice(CopyMode mode, CpuClock cpu_ns = thread_cpu_ns) noexcept;
    /// Call it before the first look(): trials then vary the size of calls, too, and the reader must use call_bytes().
    void try_call_sizes() noexcept {
        n_sizes_ = is_automatic_ ? call_sizes.size() : 1;
        if (is_automatic_) way_ = first_way();
    }

    // Hot path: no allocation, no lock, no log, no throw.
    CopyFunction copy() const noexcept { return copies_[way_ % n_copies]; }
    std::size_t call_bytes() const noexcept { return call_sizes[size_of(way_)]; }
    bool passes_cache(CopyFunction one) const noexcept { return one == copies_[2]; }
    /// Call it before each step, with the bytes and datagrams taken so far.
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
    CopyMode chosen_copy() const noexcept;  ///< automatic: not chosen yet
    std::string describe() const;

  private:
    enum class Reason : std::uint8_t { start, time, traffic };  ///< why a trial began
    struct Amount {
        std::uint64_t bytes = 0, datagrams = 0;
        void add(const Amount& more) noexcept {
            bytes += more.bytes;
            datagrams += more.datagrams;
        }
        bool is_like(const Amount& other) const noexcept;
    };

    /// way = copy method + n_copies x size. If only one size is tried, it is the usual one.
    std::size_t size_of(std::size_t way) const noexcept { return n_sizes_ > 1 ? way / n_copies : usual_size; }
    std::size_t n_tried() const noexcept { return n_copies * n_sizes_; }
    /// The way used until the first trial has ended, which takes long if few data come at a time.
    std::size_t first_way() const noexcept { return n_sizes_ > 1 ? n_copies * usual_size : 0; }
    bool is_trying() const noexcept { return turn_ < turns_per_way * n_tried(); }
    void try_step(const Amount& taken) noexcept;
    void watch(const Amount& taken) noexcept;
    void begin_trial(Reason reason) noexcept;
    void end_turn() noexcept;
    void choose() noexcept;
    std::string costs_of(std::size_t method) const;

    static constexpr std::uint8_t none = 0xff;

    std::array<CopyFunction, n_copies> copies_;
    bool is_automatic_;
    std::size_t way_, n_sizes_ = 1;
    CpuClock cpu_ns_;
    std::uint32_t step_ = 0, turn_ = 0;
    static constexpr Nanoseconds unknown_ns = -1;
    std::uint32_t n_small_ = 0;
    Nanoseconds looked_ns_ = unknown_ns, turn_ns_ = 0;
    std::uint64_t turn_bytes_ = 0;
    Amount seen_, block_, usual_;  ///< usual_: amount of the first block after a trial
    Reason reason_ = Reason::start;
    std::array<double, n_ways> best_ns_per_byte_{};
    std::array<std::atomic<float>, n_ways> shown_ns_per_byte_{};
    std::atomic<std::uint8_t> shown_way_{none};
    std::atomic<std::uint32_t> n_trials_{0};
    std::atomic<Reason> shown_reason_{Reason::start};
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<const char*, 4> words_of<camera::CopyMode>{"auto", "plain", "ahead", "non_temporal"};

}  // namespace anello
