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

/// The cores of a host, and what work on them takes.
struct HostConfig {
    std::uint32_t n_cores = 4;
    Nanoseconds step_ns = 500;     ///< of a core, for each look
    Nanoseconds work_ns = 100;     ///< beside that, for each thing done
    Nanoseconds wake_ns = 5'000;   ///< from being woken, or from the end of a wait, to running
    double preempted_share = 0;    ///< of the steps after which another program has the core
    Nanoseconds preempted_ns = 0;  ///< at most, then
    std::uint64_t seed = 1;        ///< of that
};

/// The threads of a process in virtual time. They do what those of the system do (core/thread.cpp): look, look once
/// more, sleep as long as their stages say, until they are woken or their descriptor is readable, rest. A step happens
/// at once, and then holds its core for as long as it is said to take. One that spins is taken to sleep.
class SimulatedThreads final : public Threads {
  public:
    SimulatedThreads(const HostConfig& config, World& world);  ///< The world must outlive it, and not run after it.
    ~SimulatedThreads() override;

    std::unique_ptr<Worker> make(ThreadConfig config, std::function<std::size_t()> do_work) override;
    /// Meanwhile all that is put down happens.
    void pause(Nanoseconds for_ns) override { world_.run_until(world_.monotonic_ns() + for_ns); }

    /// Of what a thread does now: it waits until then, and its core is free meanwhile. What it does happens before.
    void block_until(Nanoseconds until_ns) noexcept { blocked_until_ns_ = std::max(blocked_until_ns_, until_ns); }
    void end_all() noexcept;               ///< The process dies: none of them does anything any more.
    void notify(int descriptor) noexcept;  ///< It is readable now: wakes who sleeps on it.
    /// All of them stand still until then, as after SIGSTOP, from their next step on.
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
    std::deque<std::unique_ptr<Thread>> threads_;  ///< all that there ever were: the world may know of them
    Nanoseconds stopped_until_ns_ = 0, blocked_until_ns_ = 0;
    std::uint64_t n_steps_ = 0;
};

}  // namespace anello::simulate
