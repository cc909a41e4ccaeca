// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "core/thread.hpp"
#include "pipeline/stage.hpp"

namespace anello::pipeline {

/// Runs a chain: makes the threads of its stages, wakes them, drains the stages in order, and collects their notices
/// and states. The control thread calls all members. The objects that stages use must outlive the runner, whose
/// destructor ends the threads.
class Runner {
  public:
    explicit Runner(const Clock& clock = SystemClock::instance(), Threads& threads = Threads::system()) noexcept
        : clock_(clock), makes_threads_(threads) {}
    ~Runner();
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    /// Adds stages after those added before.
    void add(ChainPart part);

    /// Threads and buffers report their state in this page, which must outlive the runner. Call it before start().
    void tell_in(CounterPage& page) noexcept { page_ = &page; }
    /// The control thread calls it periodically: it updates the state of the buffers and shows that the thread is
    /// alive.
    void keep_page();

    void start();  ///< Throws ConfigError, SystemError; then no thread is left running.
    /// Drains stage by stage, so that all data on its way arrives; a thread ends when the last of its stages has
    /// drained. Waits at most 10 s, for stages with a patience of their own as long as that.
    void stop();
    bool running() const noexcept { return running_; }
    /// The first stage that did not drain in time; empty if all did.
    const std::string& stuck_stage() const noexcept { return stuck_stage_; }

    Notices notices();
    States states() const;
    Latencies latency() const;
    LatenciesOverTime latency_over_time() const;

  private:
    struct Served {
        const Stage* stage;
        std::uint32_t lane;
        std::size_t weight;  ///< factor of its work, for comparison with the thread's rest_below
    };
    struct Thread;
    struct Wake {
        const std::function<bool(std::uint32_t)>* has_work;
        const Stage* to;
        std::uint32_t from_lane;
        Thread* thread;
    };
    struct Thread {
        ThreadConfig config{};
        std::vector<Served> served{};
        std::vector<Wake> wakes{};
        std::size_t last_stage = 0;
        std::unique_ptr<Worker> worker{};
    };
    struct Limits;

    void plan(std::size_t first_stage, const ThreadPlan& plan, WaitPolicy wait);
    void add_thread(std::span<const std::size_t> stages, std::uint32_t lane, const ThreadPlan& plan, WaitPolicy wait);
    Nanoseconds rest_ns(std::span<const std::size_t> stages, const ThreadPlan& plan) const noexcept;
    bool is_planned(const Stage& stage) const noexcept;
    template <typename Use>
    void for_each_fed_by(const Stage& stage, Use use) const;
    bool is_first(const Stage& stage) const noexcept;
    Thread* thread_of(const Stage& stage, std::uint32_t lane) noexcept;
    void make_workers();
    void join(Thread& thread);
    void add_wakes(Thread& thread, const Served& from, const Stage& to,
                   const std::function<bool(std::uint32_t)>& has_work);
    static std::size_t step(const Thread& thread) noexcept;
    static std::size_t carry_on(const Thread& thread, std::size_t from) noexcept;
    static Nanoseconds longest_wait_ns(const Thread& thread) noexcept;
    void await(const Stage& stage, Limits& limits);
    void end_threads(std::size_t last_stage);
    std::string placement_words() const;
    void close_stages(std::size_t last_stage);

    const Clock& clock_;
    Threads& makes_threads_;
    CounterPage* page_ = nullptr;
    std::map<std::string, BufferCell*> buffers_;
    std::deque<Stage> stages_;  // a deque, because threads keep pointers to its elements
    std::deque<Thread> threads_;
    std::vector<bool> closed_;
    bool running_ = false;
    std::string stuck_stage_;
    bool is_stuck_reported_ = false;
};

}  // namespace anello::pipeline
