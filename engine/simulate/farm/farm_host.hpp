// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "simulate/cores.hpp"
#include "simulate/farm/farm_process.hpp"
#include "simulate/world/simulated_disk.hpp"

namespace anello::simulate {

/// A machine with one core for the farm's process and one for the thread that writes its file. The process runs when a
/// packet arrived, when it has timed work, or when it has work left; each step takes time.
class FarmHost final : private Actor, private Runnable {
  public:
    /// `cores`: null if this host has a core of its own.
    FarmHost(const FarmScenario& scenario, Node node, Network& network, Cores* cores);

    void start(bool comes_again);  ///< Starts a process; there must be none.
    void begin() noexcept;         ///< Begins its work: it knows the other processes now.
    void crash() noexcept;
    /// The process dies in its next step, after it has sent so many packets.
    void die_within_step(std::uint32_t n_packets, bool loses_power);
    void abort() noexcept;
    void lose_power() noexcept;
    void stop_until(Nanoseconds until_ns) noexcept;
    void be_slower(double factor) noexcept { slowness_ = factor; }
    void source_stuck_until(Nanoseconds until_ns) noexcept { stuck_until_ns_ = until_ns; }
    void sink_full_until(Nanoseconds until_ns) noexcept;
    /// The process executes this command when it runs next.
    void command(std::function<void(FarmProcess&)> command);
    /// Calls `then` once, when the process has done so many steps.
    void at_step(std::uint64_t step, std::function<void()> then);

    /// A process exists, and has not ended.
    bool is_running() const noexcept {
        return !processes_.empty() && !processes_.back()->has_exited() && !processes_.back()->is_over();
    }
    /// Time for which its process has run so far.
    Nanoseconds busy_ns() const noexcept { return busy_ns_; }
    FarmProcess& process() noexcept { return *processes_.back(); }
    SimulatedDisk& disk() noexcept { return disk_; }
    const SimulatedDisk& disk() const noexcept { return disk_; }
    /// All processes of this host so far, the latest at the end.
    const std::vector<std::unique_ptr<FarmProcess>>& processes() const noexcept { return processes_; }

  private:
    void on_event(std::uint64_t appointment) noexcept override;
    void appoint(Nanoseconds when_ns) noexcept;
    void wake() noexcept;
    void step() noexcept;
    void end() noexcept;
    void die(bool loses_power) noexcept;
    void run_on_core() noexcept override;
    Nanoseconds cost_ns(std::size_t n_things) noexcept;

    const FarmScenario& scenario_;
    const Node node_;
    Network& network_;
    World& world_;
    Cores* const cores_;
    source::Random random_;
    SimulatedDisk disk_;
    std::vector<std::unique_ptr<FarmProcess>> processes_;
    std::vector<std::function<void(FarmProcess&)>> commands_;
    struct Awaited {
        std::uint64_t step;
        std::function<void()> then;
    };
    std::vector<Awaited> awaited_;
    std::uint64_t n_steps_ = 0;
    struct Alarm {
        Nanoseconds at_ns = FarmProcess::never_ns;
        std::uint64_t number = 0;
    };
    std::array<Alarm, 2> alarms_;  ///< pending events: one that is due soon, and one late
    std::uint64_t last_alarm_ = 0;
    Nanoseconds appointed_ns_ = 0, stopped_until_ns_ = 0, stuck_until_ns_ = 0;
    Moved paid_;  ///< traffic for which the process has spent its time already
    std::uint64_t paid_own_mfps_ = 0;
    Nanoseconds busy_ns_ = 0;
    double slowness_ = 1;
    bool is_asleep_ = false;
    bool is_dying_ = false, loses_power_ = false;  ///< within the next step
};

}  // namespace anello::simulate
