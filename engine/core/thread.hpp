// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace anello {

/// What a thread does when there is nothing to do.
/// spin: lowest latency, a whole core. sleep: spins for a microsecond, then sleeps 20 us at a time, and up to 160 us
/// when nothing comes for long: bounded latency on machines where threads outnumber cores.
enum class WaitPolicy : std::uint8_t { spin, sleep };

WaitPolicy parse_wait_policy(const std::string& text);  ///< Throws ConfigError.

/// One idle step after another; reset() as soon as there was work.
class Idler {
  public:
    explicit Idler(WaitPolicy policy) noexcept : policy_(policy) {}
    void idle() noexcept;
    void rest() noexcept;  ///< the shortest sleep: there was little to do, and in a moment there is more
    void reset() noexcept { n_idle_ = 0; }

  private:
    WaitPolicy policy_;
    std::uint32_t n_idle_ = 0;
};

struct ThreadConfig {
    std::string name;  ///< at most 15 characters, seen in top and perf
    int core = -1;     ///< logical core to pin to, -1 for none
    WaitPolicy wait = WaitPolicy::sleep;
    /// After less work than this (but some) a sleeping thread rests 20 us, so that the next step does more at once:
    /// what interrupt moderation is for a network card.
    std::size_t rest_below = 1;
};

/// A named, optionally pinned thread that calls `do_work` until stopped. do_work returns the amount of work it did;
/// zero makes the thread idle by its policy.
class WorkerThread {
  public:
    WorkerThread(ThreadConfig config, std::function<std::size_t()> do_work);
    ~WorkerThread() { stop(); }
    WorkerThread(const WorkerThread&) = delete;
    WorkerThread& operator=(const WorkerThread&) = delete;

    void start();  ///< Throws ConfigError when the core to pin to does not exist.
    void stop();   ///< Lets the running do_work end, then joins. Safe to call twice.
    const std::string& name() const noexcept { return config_.name; }
    /// CPU time this thread has used, refreshed now and then by the thread itself.
    std::int64_t cpu_time_ns() const noexcept { return cpu_time_ns_.load(std::memory_order_relaxed); }

  private:
    void run() noexcept;

    ThreadConfig config_;
    std::function<std::size_t()> do_work_;
    std::atomic<bool> stop_{false};
    std::atomic<std::int64_t> cpu_time_ns_{0};
    std::thread thread_;
};

}  // namespace anello
