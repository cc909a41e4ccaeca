// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "core/clock.hpp"
#include "core/counters/thread_cell.hpp"
#include "core/words.hpp"

namespace anello {

/// What a thread does without work. spin: lowest latency, takes a whole core. sleep: spins for a microsecond, then
/// sleeps 20 us at a time, up to 160 us after a long time without work; bounds the latency on machines with more
/// threads than cores.
enum class WaitPolicy : std::uint8_t { spin, sleep };
template <>
inline constexpr std::array<const char*, 2> words_of<WaitPolicy>{"spin", "sleep"};

std::int64_t thread_cpu_ns() noexcept;  ///< CPU time of the calling thread

/// Number of threads for a wanted number. Below 0: one for each core that the calling thread may use, or none if that
/// is a single core.
std::uint32_t n_threads_of(std::int32_t wanted) noexcept;

WaitPolicy parse_wait_policy(const std::string& text);  ///< Throws ConfigError.

/// Shortest rest, and longest wait of a sleeping thread: by default, and without timers.
inline constexpr Nanoseconds shortest_rest_ns = 20'000;
inline constexpr Nanoseconds usual_wait_ns = 1'000'000, longest_idle_ns = 50'000'000;

/// Waits step by step while there is no work; call reset() when there was some. With descriptors (-1: none) a sleeping
/// thread waits until one of them is readable, and does not look repeatedly. PERF NOTE: for a paced stream of 1.5 Gb/s,
/// looking took 837 ns of CPU per datagram, waiting for descriptors 430 (peers_bench).
class Idler {
  public:
    explicit Idler(WaitPolicy policy, int descriptor = -1, int event = -1) noexcept
        : policy_(policy), descriptor_(descriptor), event_(event) {}
    /// Waits at most wait_ns for the descriptors.
    void idle(Nanoseconds wait_ns = usual_wait_ns) noexcept;
    void rest(Nanoseconds rest_ns) const noexcept;  ///< for a step with little work, when more is expected soon
    void reset() noexcept {
        n_idle_ = 0;
        woken_in_vain_ = false;
    }

  private:
    /// True if the first descriptor was readable; work announced by the event is found in another way.
    bool was_readable(Nanoseconds wait_ns) noexcept;

    WaitPolicy policy_;
    int descriptor_, event_;
    bool woken_in_vain_ = false;  ///< the descriptor was readable without work: there is no buffer for it
    std::uint32_t n_idle_ = 0;
};

/// Decides whether a thread rests after a step with little work. A rest pays if the next look finds work. If work comes
/// in separate bursts, a rest only adds a wake-up to each. PERF NOTE: bursts of seven datagrams of 8 kB took 11 us of
/// CPU time per datagram with a rest after each (peers_bench, paced).
class RestChoice {
  public:
    static constexpr std::uint32_t try_again_every = 16;  ///< number of rests that would not have paid
    /// Called after a step with little work; true if the thread should rest now.
    bool should_rest() noexcept {
        rested_ = pays_ || ++n_without_ % try_again_every == 0;
        return rested_;
    }
    /// Called before the thread waits or continues, with the result of the look after that step.
    void looked(bool found_something) noexcept {
        if (rested_) pays_ = found_something;
        rested_ = false;
    }

  private:
    bool pays_ = true, rested_ = false;
    std::uint32_t n_without_ = 0;
};

struct ThreadConfig {
    std::string name;  ///< at most 15 characters, shown by top and perf
    int core = -1;     ///< logical core to pin to; -1: none
    /// Gives the thread priority over all normal threads of its core (SCHED_FIFO), if permitted. Spinning threads must
    /// not use it: they never leave the core, and the kernel stops such threads for 50 ms of each second.
    bool realtime = false;
    bool goes_first = false;  ///< higher priority than this program's other real-time threads; its work is short
    WaitPolicy wait = WaitPolicy::sleep;
    /// A sleeping thread rests after less work than this (but some), so that its next step does more at once, like
    /// interrupt moderation of a network card.
    std::size_t rest_below = 1;
    Nanoseconds rest_ns = shortest_rest_ns;
    /// Readable when there is work. A sleeping thread waits for it, at most longest_wait_ns. -1: none.
    int wake_descriptor = -1;
    bool can_be_woken = false;  ///< also by wake()
    /// Longest wait; the thread calls it before each wait. Default: 1 ms.
    std::function<Nanoseconds()> longest_wait_ns{};
    /// Where the thread reports its activity; null: nowhere. PERF NOTE: 22 ns for each step, for reading the clock
    /// (latency_bench).
    ThreadCell* cell = nullptr;
};

class CounterPage;
/// The same configuration with a new cell in `page`, which must outlive the thread. Throws ConfigError if the page is
/// full.
ThreadConfig told_in(CounterPage& page, ThreadConfig config);

/// Calls `do_work` repeatedly until it is stopped. do_work returns the amount of work it did; after 0 the worker idles
/// according to its policy.
class Worker {
  public:
    Worker() = default;
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    virtual ~Worker() = default;

    virtual void start() = 0;  ///< Throws ConfigError if the core to pin to does not exist.
    virtual void stop() = 0;   ///< Waits for the running do_work, then joins. May be called twice.
    /// Any thread may call it after giving this one work: ends its sleep. Costs almost nothing while the thread works.
    virtual void wake() noexcept = 0;
    virtual const ThreadConfig& config() const noexcept = 0;
    virtual bool is_realtime() const noexcept = 0;  ///< valid once it runs
};

/// Creates workers: threads of the operating system, or of virtual time (engine/simulate).
class Threads {
  public:
    virtual ~Threads() = default;
    /// Throws SystemError.
    virtual std::unique_ptr<Worker> make(ThreadConfig config, std::function<std::size_t()> do_work) = 0;
    virtual void pause(Nanoseconds for_ns) = 0;  ///< Lets the calling thread wait; it must not be one of the workers.

    static Threads& system() noexcept;
};

/// A named, optionally pinned thread.
class WorkerThread final : public Worker {
  public:
    WorkerThread(ThreadConfig config, std::function<std::size_t()> do_work);  ///< Throws SystemError.
    ~WorkerThread() override;

    void start() override;
    void stop() override;
    void wake() noexcept override;
    const std::string& name() const noexcept { return config_.name; }
    const ThreadConfig& config() const noexcept override { return config_; }
    bool is_realtime() const noexcept override { return is_realtime_.load(std::memory_order_relaxed); }
    /// CPU time of this thread, which it updates periodically.
    std::int64_t cpu_time_ns() const noexcept { return cpu_time_ns_.load(std::memory_order_relaxed); }

  private:
    void run() noexcept;
    void run_steps() noexcept;
    std::size_t work_or_wait(Idler& idler) noexcept;

    ThreadConfig config_;
    int wake_event_ = -1;
    std::atomic<bool> wants_waking_{false};
    std::function<std::size_t()> do_work_;
    std::atomic<bool> stop_{false}, is_realtime_{false};
    std::atomic<std::int64_t> cpu_time_ns_{0};
    std::thread thread_;
};

}  // namespace anello
