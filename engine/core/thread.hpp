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

/// What a thread does when there is nothing to do.
/// spin: lowest latency, a whole core. sleep: spins for a microsecond, then sleeps 20 us at a time, and up to 160 us
/// when nothing comes for long: bounded latency on machines where threads outnumber cores.
enum class WaitPolicy : std::uint8_t { spin, sleep };
template <>
inline constexpr std::array<const char*, 2> words_of<WaitPolicy>{"spin", "sleep"};

std::int64_t thread_cpu_ns() noexcept;  ///< that the calling thread has used

/// As many threads as are wanted; below 0: one for each core that the calling thread may use, or none where it is one.
std::uint32_t n_threads_of(std::int32_t wanted) noexcept;

WaitPolicy parse_wait_policy(const std::string& text);  ///< Throws ConfigError.

/// What a sleeper waits at most when it is not said otherwise; and when it has no timers.
inline constexpr Nanoseconds shortest_rest_ns = 20'000;
inline constexpr Nanoseconds usual_wait_ns = 1'000'000, longest_idle_ns = 50'000'000;

/// One idle step after another; reset() as soon as there was work. With descriptors (-1: none) a sleeper waits until
/// one of them is readable instead of looking again and again. PERF NOTE: a paced stream of 1.5 Gb/s took 837 ns of CPU
/// per datagram with threads that look, 430 without (peers_bench).
class Idler {
  public:
    explicit Idler(WaitPolicy policy, int descriptor = -1, int event = -1) noexcept
        : policy_(policy), descriptor_(descriptor), event_(event) {}
    /// wait_ns: at most this long for the descriptors.
    void idle(Nanoseconds wait_ns = usual_wait_ns) noexcept;
    void rest(Nanoseconds rest_ns) const noexcept;  ///< there was little to do, and in a moment there is more
    void reset() noexcept {
        n_idle_ = 0;
        woken_in_vain_ = false;
    }

  private:
    /// Whether the first was; the other one tells of work by another way.
    bool was_readable(Nanoseconds wait_ns) noexcept;

    WaitPolicy policy_;
    int descriptor_, event_;
    bool woken_in_vain_ = false;  ///< it was readable, and yet there was nothing to do: there is no room for it
    std::uint32_t n_idle_ = 0;
};

/// Whether a thread rests after a step that did little. A rest pays when the next look finds something: where work
/// comes in bursts with nothing in between, it only adds a wake-up to each. PERF NOTE: bursts of seven datagrams of 8
/// kB took 11 us of CPU time per datagram with a rest after each (peers_bench, paced).
class RestChoice {
  public:
    static constexpr std::uint32_t try_again_every = 16;  ///< times that a rest would not have paid
    /// After a step that did little: whether to rest now.
    bool should_rest() noexcept {
        rested_ = pays_ || ++n_without_ % try_again_every == 0;
        return rested_;
    }
    /// Before the thread waits or goes on: what the look found that followed.
    void looked(bool found_something) noexcept {
        if (rested_) pays_ = found_something;
        rested_ = false;
    }

  private:
    bool pays_ = true, rested_ = false;
    std::uint32_t n_without_ = 0;
};

struct ThreadConfig {
    std::string name;  ///< at most 15 characters, seen in top and perf
    int core = -1;     ///< logical core to pin to, -1 for none
    /// Runs before all usual threads of its core (SCHED_FIFO), where that is permitted. One that spins does not: it
    /// would never leave the core, and the system stops such a thread for 50 ms of each second.
    bool realtime = false;
    bool goes_first = false;  ///< also before other real-time threads of this program: it is never long
    WaitPolicy wait = WaitPolicy::sleep;
    /// After less work than this (but some) a sleeping thread rests, so that the next step does more at once:
    /// what interrupt moderation is for a network card.
    std::size_t rest_below = 1;
    Nanoseconds rest_ns = shortest_rest_ns;
    /// Readable when there is work; a sleeping thread waits for that, as long as longest_wait_ns says. -1: none.
    int wake_descriptor = -1;
    bool can_be_woken = false;  ///< by wake(), too
    /// How long it may wait to be woken: asked before each wait, by the thread itself. Without it 1 ms.
    std::function<Nanoseconds()> longest_wait_ns{};
    /// Where it tells of itself; null: nowhere. PERF NOTE: 22 ns for each step, for a look at the clock
    /// (latency_bench).
    ThreadCell* cell = nullptr;
};

class CounterPage;
/// As it is, and the thread tells of itself in that page, which must outlive it. Throws ConfigError when that is full.
ThreadConfig told_in(CounterPage& page, ThreadConfig config);

/// Calls `do_work` until it is stopped. do_work returns the amount of work it did; zero makes the worker idle by its
/// policy.
class Worker {
  public:
    Worker() = default;
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    virtual ~Worker() = default;

    virtual void start() = 0;  ///< Throws ConfigError when the core to pin to does not exist.
    virtual void stop() = 0;   ///< Lets the running do_work end, then joins. Safe to call twice.
    /// Any thread, after it gave this one something to do: ends its sleep. Costs almost nothing while it works.
    virtual void wake() noexcept = 0;
    virtual const ThreadConfig& config() const noexcept = 0;
    virtual bool is_realtime() const noexcept = 0;  ///< once it runs
};

/// Where workers come from: threads of the system, or virtual time (engine/simulate).
class Threads {
  public:
    virtual ~Threads() = default;
    /// Throws SystemError.
    virtual std::unique_ptr<Worker> make(ThreadConfig config, std::function<std::size_t()> do_work) = 0;
    virtual void pause(Nanoseconds for_ns) = 0;  ///< The calling thread, which is none of these, waits.

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
    /// CPU time this thread has used, refreshed now and then by the thread itself.
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
