// SPDX-License-Identifier: Apache-2.0
#include "simulate/farm/farm_host.hpp"

#include <algorithm>
#include <utility>

namespace anello::simulate {

FarmHost::FarmHost(const FarmScenario& scenario, Node node, Network& network, Cores* cores)
    : scenario_(scenario),
      node_(node),
      network_(network),
      world_(network.world()),
      cores_(cores),
      random_(scenario.seed, 0x686f7374 + std::uint64_t{node}),
      disk_({.short_share = 0.05, .seed = scenario.seed + node}, world_, [this](Nanoseconds until_ns) {
          if (is_running()) process().wait_for_disk(until_ns);
      }) {}

void FarmHost::start(bool comes_again) {
    if (is_running()) return;
    disk_.have_room_for(SimulatedDisk::enough_bytes);  // the operator who restarts it is assumed to have made room
    stopped_until_ns_ = 0;
    n_steps_ = 0;
    commands_.clear();
    paid_ = {};
    paid_own_mfps_ = 0;
    processes_.push_back(std::make_unique<FarmProcess>(scenario_, node_, static_cast<unsigned>(processes_.size()),
                                                       comes_again, network_, disk_, [this] { wake(); }));
    alarms_ = {};  // without the alarms of the earlier process
    is_dying_ = false;
    is_asleep_ = false;
}

void FarmHost::begin() noexcept {
    if (!is_running()) return;
    process().station().begin();
    appoint(world_.monotonic_ns());
}

void FarmHost::stop_until(Nanoseconds until_ns) noexcept {
    stopped_until_ns_ = std::max(stopped_until_ns_, until_ns);
    if (is_running()) process().stop_threads_until(stopped_until_ns_);
}

void FarmHost::crash() noexcept {
    if (is_running()) die(false);
}

/// The process may also die in the step in which it ends: its last messages may then not have left.
void FarmHost::die(bool loses_power) noexcept {
    if (process().has_exited()) return;
    if (loses_power) {
        process().lose_power();
        disk_.lose_power();
    } else {
        process().crash();
        disk_.lose_process();
    }
}

void FarmHost::die_within_step(std::uint32_t n_packets, bool loses_power) {
    if (!is_running()) return;
    process().die_after(n_packets);
    is_dying_ = true;
    loses_power_ = loses_power;
}

void FarmHost::abort() noexcept {
    if (is_running()) process().abort();
}

void FarmHost::lose_power() noexcept {
    if (is_running()) die(true);
}

void FarmHost::sink_full_until(Nanoseconds until_ns) noexcept {
    if (is_running() && process().sink() != nullptr) process().sink()->be_full_until(until_ns);
}

void FarmHost::command(std::function<void(FarmProcess&)> command) {
    if (!is_running()) return;
    commands_.push_back(std::move(command));
    wake();
}

void FarmHost::at_step(std::uint64_t step, std::function<void()> then) {
    awaited_.push_back({step, std::move(then)});
}

/// At most one event that is due soon and one that is due late are pending; an event that arrives too early sets
/// another.
void FarmHost::appoint(Nanoseconds when_ns) noexcept {
    constexpr Nanoseconds soon_ns = 100'000;
    appointed_ns_ = when_ns;
    if (std::min(alarms_[0].at_ns, alarms_[1].at_ns) <= when_ns) return;
    const std::size_t which = when_ns - world_.monotonic_ns() > soon_ns ? 1 : 0;
    alarms_[which] = {when_ns, ++last_alarm_};
    world_.at(when_ns, *this, last_alarm_ << 1 | which);
}

/// A packet arrived; the system needs some time until a sleeping process runs.
void FarmHost::wake() noexcept {
    if (!is_asleep_) return;
    const Nanoseconds awake_ns = world_.monotonic_ns() + scenario_.wake_ns;
    if (awake_ns < appointed_ns_) appoint(awake_ns);
    is_asleep_ = false;
}

void FarmHost::on_event(std::uint64_t what) noexcept {
    Alarm& alarm = alarms_[what & 1];
    if (alarm.number != what >> 1) return;  // another one was set since
    alarm = {};
    if (!is_running()) return;
    if (appointed_ns_ > world_.monotonic_ns()) return appoint(appointed_ns_);
    if (stopped_until_ns_ > world_.monotonic_ns()) return appoint(stopped_until_ns_);
    for (Awaited& one : awaited_)
        if (one.step == n_steps_) std::exchange(one.then, [] {})();
    if (!is_running()) return;
    if (cores_ != nullptr) return cores_->run(*this);
    step();
}

void FarmHost::run_on_core() noexcept {
    const Nanoseconds before_ns = busy_ns_;
    if (is_running()) step();
    cores_->hold_until(world_.monotonic_ns() + std::max<Nanoseconds>(1, busy_ns_ - before_ns));
}

void FarmHost::step() noexcept {
    FarmProcess& own = process();
    const Nanoseconds now_ns = world_.monotonic_ns();
    is_asleep_ = false;
    ++n_steps_;
    for (const auto& command : std::exchange(commands_, {})) command(own);
    const std::size_t n_things = own.step(now_ns >= stuck_until_ns_);
    if (std::exchange(is_dying_, false)) return die(loses_power_);
    const Nanoseconds cost = cost_ns(n_things), done_ns = now_ns + cost;
    busy_ns_ += cost;
    if (own.is_over()) return end();
    if (n_things > 0) return appoint(done_ns);
    const Nanoseconds due_ns = own.next_due_ns(done_ns);
    is_asleep_ = due_ns > done_ns;
    appoint(due_ns);
}

/// A process that failed leaves the others; the rest keep their connections until all have reported their end.
void FarmHost::end() noexcept {
    process().station().settle();
    process().close_file();
    if (process().station().failed()) process().exit();
}

Nanoseconds FarmHost::cost_ns(std::size_t n_things) noexcept {
    const Moved moved = process().moved(), paid = std::exchange(paid_, moved);
    const std::uint64_t n_own = process().n_own_mfps(), n_own_paid = std::exchange(paid_own_mfps_, n_own);
    const auto share = [](std::uint64_t now, std::uint64_t before, double of) {
        return static_cast<double>(now - before) * of;
    };
    const double own_ns = static_cast<double>(scenario_.step_ns) +
                          share(n_things, 0, static_cast<double>(scenario_.thing_ns)) +
                          share(moved.n_messages, paid.n_messages, static_cast<double>(scenario_.message_ns)) +
                          share(moved.n_bytes, paid.n_bytes, 8 / scenario_.core_gbps) +
                          share(n_own, n_own_paid, static_cast<double>(scenario_.own_message_ns));
    Nanoseconds cost_ns = static_cast<Nanoseconds>(own_ns * slowness_);
    if (scenario_.preemption > 0 && random_.uniform() < scenario_.preemption)
        cost_ns += random_.below(static_cast<std::uint32_t>(scenario_.preempted_ns));
    return std::max<Nanoseconds>(1, cost_ns);
}

}  // namespace anello::simulate
