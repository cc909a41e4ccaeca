// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>

#include "core/thread.hpp"
#include "simulate/cores.hpp"
#include "simulate/world/world.hpp"
#include "source/random.hpp"

namespace anello::simulate {

/// The cores of a host, and how long work on them takes.
struct HostConfig {
    std::uint32_t n_cores = 4;
    Nanoseconds step_ns = 500;     ///< of a core, for each step
    Nanoseconds work_ns = 100;     ///< in addition, for each thing done
    Nanoseconds wake_ns = 5'000;   ///< from being woken, or from the end of a wait, to running
    double preempted_share = 0;    ///< fraction of the steps after which another program has the core
    Nanoseconds preempted_ns = 0;  ///< longest time of that
    std::uint64_t seed = 1;        ///< of the preemption
};

/// The threads of a process in virtual time. They behave like those of the system (core/thread.cpp): they look for work
/// twice, sleep as long as their stages allow or until they are woken or their descriptor is readable, and rest. A step
/// happens at once, and then occupies its core for the configured time. A thread that spins is simulated as one that
/// sleeps.
class SimulatedThreads final : public Threads {
  public:
    SimulatedThreads(const HostConfig& config, World& world);  ///< The world must outlive it, and not run after it.
    ~SimulatedThreads() override;

    std::unique_ptr<Worker> make(ThreadConfig config, std::function<std::size_t()> do_work) override;
    /// All pending events of this time happen.
    void pause(Nanoseconds for_ns) override { world_.run_until(world_.monotonic_ns() + for_ns); }

    /// The calling thread waits until then, and its core is free in the meantime. The effects of its step happen before
    /// the wait.
    void block_until(Nanoseconds until_ns) noexcept { blocked_until_ns_ = std::max(blocked_until_ns_, until_ns); }
    void end_all() noexcept;               ///< The process dies: its threads do nothing any more.
    void notify(int descriptor) noexcept;  ///< The descriptor is readable now: wakes the thread that sleeps on it.
    /// All threads stand still until then, as after SIGSTOP, from their next step.
    void stop_until(Nanoseconds when_ns) noexcept { stopped_until_ns_ = when_ns; }
    std::uint64_t n_steps() const noexcept { return n_steps_; }

  private:
    class Thread;
    class Handle;

    Nanoseconds cost_ns(std::size_t n_done) noexcept;

    const HostConfig config_;
    World& world_;
    Cores cores_;
    source::Random random_;
    std::deque<std::unique_ptr<Thread>> threads_;  ///< includes ended ones: the world may refer to them
    Nanoseconds stopped_until_ns_ = 0, blocked_until_ns_ = 0;
    std::uint64_t n_steps_ = 0;
};

}  // namespace anello::simulate
