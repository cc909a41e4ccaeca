// SPDX-License-Identifier: Apache-2.0
#include "pipeline/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace anello::pipeline {
namespace {

constexpr Nanoseconds drain_limit_ns = 10'000'000'000, look_again_ns = 1'000'000;
constexpr std::uint32_t most_steps_at_once = 64;
constexpr Nanoseconds subscribers_limit_ns = 3'000'000'000;  // draining then continues without them

}  // namespace

/// Time limits of one stop().
struct Runner::Limits {
    Nanoseconds subscribers_ns;  ///< until subscribers are given up
    Nanoseconds end_ns;          ///< for all stages without a limit of their own
    bool gave_up = false;
};

Runner::~Runner() {
    for (Thread& thread : threads_)
        if (thread.worker) thread.worker->stop();
}

// --- Threads

void Runner::add(ChainPart part) {
    const std::size_t first = stages_.size();
    for (Stage& stage : part.stages) stages_.push_back(std::move(stage));
    for (const ThreadPlan& one : part.threads) plan(first, one, part.wait);
    for (std::size_t i = first; i < stages_.size(); ++i)
        if (stages_[i].do_work && !is_planned(stages_[i]))
            plan(first, {.name = stages_[i].name, .stages = {stages_[i].name}}, WaitPolicy::sleep);
}

bool Runner::is_planned(const Stage& stage) const noexcept {
    return std::ranges::any_of(threads_, [&](const Thread& thread) {
        return std::ranges::any_of(thread.served, [&](const Served& one) { return one.stage == &stage; });
    });
}

/// Makes one thread for each lane of its stages. The first thread also serves the stages with a single lane.
void Runner::plan(std::size_t first_stage, const ThreadPlan& plan, WaitPolicy wait) {
    for (std::uint32_t lane = 0;; ++lane) {
        std::vector<std::size_t> stages;
        for (std::size_t i = first_stage; i < stages_.size(); ++i)
            if (stages_[i].do_work && lane < stages_[i].n_lanes && plan.has(stages_[i].name)) stages.push_back(i);
        if (stages.empty()) return;
        add_thread(stages, lane, plan, wait);
    }
}

void Runner::add_thread(std::span<const std::size_t> stages, std::uint32_t lane, const ThreadPlan& plan,
                        WaitPolicy wait) {
    Thread& thread = threads_.emplace_back();
    const int core = plan.core(lane);
    thread.config = {.name = plan.name,
                     .core = core,
                     .realtime = plan.realtime && core >= 0,
                     .goes_first = plan.goes_first,
                     .wait = plan.spins && core >= 0 ? WaitPolicy::spin : wait};
    if (lane > 0) thread.config.name = fmt::format("{}.{}", stages_[stages.front()].name, lane);
    for (const std::size_t i : stages)
        thread.config.rest_below = std::max(thread.config.rest_below, stages_[i].rest_below);
    thread.config.rest_ns = rest_ns(stages, plan);
    for (const std::size_t i : stages)
        thread.served.push_back({&stages_[i], lane, thread.config.rest_below / stages_[i].rest_below});
    thread.last_stage = stages.back();
    thread.config.longest_wait_ns = [&thread] { return longest_wait_ns(thread); };
    const Stage& first = stages_[stages.front()];
    if (first.wake_descriptor) thread.config.wake_descriptor = first.wake_descriptor(lane);
}

/// The shortest rest of those of its stages that rest.
Nanoseconds Runner::rest_ns(std::span<const std::size_t> stages, const ThreadPlan& plan) const noexcept {
    Nanoseconds shortest_ns = std::numeric_limits<Nanoseconds>::max();
    for (const std::size_t i : stages)
        if (stages_[i].rest_below > 1) shortest_ns = std::min(shortest_ns, stages_[i].rest_ns.value_or(plan.rest_ns));
    return shortest_ns;
}

/// Calls use(stage, function that tells if it has work) for each stage that gets this stage's output. A stage aside
/// gives back to the main stage before it; a main stage feeds its stages aside and the next main stage.
template <typename Use>
void Runner::for_each_fed_by(const Stage& stage, Use use) const {
    const auto is_main = [](const Stage& one) { return one.do_work && !one.is_aside; };
    const auto here = std::ranges::find_if(stages_, [&](const Stage& one) { return &one == &stage; });
    if (stage.is_aside) {
        const auto before = std::find_if(std::make_reverse_iterator(here), stages_.rend(), is_main);
        if (before != stages_.rend()) use(*before, stage.has_given_back);
        return;
    }
    for (auto next = here + 1; next != stages_.end(); ++next) {
        if (next->do_work) use(*next, next->has_input);
        if (is_main(*next)) return;
    }
}

Runner::Thread* Runner::thread_of(const Stage& stage, std::uint32_t lane) noexcept {
    const auto found = std::ranges::find_if(threads_, [&](const Thread& thread) {
        return std::ranges::any_of(thread.served,
                                   [&](const Served& one) { return one.stage == &stage && one.lane == lane; });
    });
    return found == threads_.end() ? nullptr : &*found;
}

/// Configures all threads before one is made, since they wake each other. A first stage without a descriptor that knows
/// when it has work, such as a generator, sleeps until then.
void Runner::make_workers() {
    for (Thread& thread : threads_) {
        const Stage& first = *thread.served.front().stage;
        thread.config.can_be_woken = is_first(first) && first.longest_wait_ns && !first.wake_descriptor;
    }
    for (Thread& thread : threads_) join(thread);
    for (Thread& thread : threads_)
        if (page_ != nullptr) thread.config = told_in(*page_, thread.config);
    for (Thread& thread : threads_)
        thread.worker = makes_threads_.make(thread.config, [&thread] { return step(thread); });
}

/// True for the first stage with a thread.
bool Runner::is_first(const Stage& stage) const noexcept {
    return &stage == &*std::ranges::find_if(stages_, [](const Stage& one) { return bool(one.do_work); });
}

/// Finds the threads that this thread wakes: lane by lane if the next stage has as many lanes, otherwise all of its
/// lanes.
void Runner::join(Thread& thread) {
    thread.wakes.clear();
    for (const Served& one : thread.served)
        for_each_fed_by(*one.stage, [&](const Stage& to, const std::function<bool(std::uint32_t)>& has_work) {
            if (has_work) add_wakes(thread, one, to, has_work);
        });
}

void Runner::add_wakes(Thread& thread, const Served& from, const Stage& to,
                       const std::function<bool(std::uint32_t)>& has_work) {
    for (std::uint32_t lane = 0; lane < to.n_lanes; ++lane) {
        if (to.n_lanes == from.stage->n_lanes && lane != from.lane) continue;
        Thread* const next = thread_of(to, lane);
        if (next == nullptr || next == &thread) continue;
        thread.wakes.push_back({&has_work, &to, from.lane, next});
        if (!to.wake) next->config.can_be_woken = true;
    }
}

// Hot path: no allocation, no lock, no log, no throw.
/// Does the work of all stages from `from` on, but limits the number of steps, since some stages take new input by
/// themselves.
std::size_t Runner::carry_on(const Thread& thread, std::size_t from) noexcept {
    if (from == thread.served.size()) return 0;
    const Served& one = thread.served[from];
    std::size_t n_done = 0;
    for (std::uint32_t i = 0; i < most_steps_at_once; ++i) {
        const std::size_t n_now = one.stage->do_work(one.lane) * one.weight;
        n_done += n_now + carry_on(thread, from + 1);
        if (n_now == 0) break;
    }
    return n_done;
}

Nanoseconds Runner::longest_wait_ns(const Thread& thread) noexcept {
    Nanoseconds wait_ns = std::numeric_limits<Nanoseconds>::max();
    for (const Served& one : thread.served)
        wait_ns = std::min(wait_ns, one.stage->longest_wait_ns ? one.stage->longest_wait_ns(one.lane) : usual_wait_ns);
    return wait_ns;
}

/// Makes one step of the thread's first stage and carries its output through the thread's later stages before it takes
/// new input. So data leaves in the order of arrival, and nothing waits between two stages of a thread.
std::size_t Runner::step(const Thread& thread) noexcept {
    const Served& first = thread.served.front();
    const std::size_t n_done = first.stage->do_work(first.lane) * first.weight + carry_on(thread, 1);
    for (const Wake& wake : thread.wakes) {
        if (!(*wake.has_work)(wake.from_lane)) continue;
        if (wake.to->wake)
            wake.to->wake();
        else
            wake.thread->worker->wake();
    }
    return n_done;
}

void Runner::start() {
    if (running_) return;
    make_workers();
    closed_.assign(stages_.size(), false);
    try {
        for (Thread& thread : threads_) thread.worker->start();
    } catch (...) {
        for (Thread& thread : threads_) thread.worker->stop();
        throw;
    }
    running_ = true;
}

// --- The end

void Runner::stop() {
    if (!std::exchange(running_, false)) return;
    const Nanoseconds now_ns = clock_.monotonic_ns();
    Limits limits{.subscribers_ns = now_ns + subscribers_limit_ns, .end_ns = now_ns + drain_limit_ns};
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        const Stage& stage = stages_[i];
        if (stage.drain) stage.drain();
        for (Thread& thread : threads_) thread.worker->wake();
        if (!stage.is_drained) continue;
        await(stage, limits);
        end_threads(i);
    }
    end_threads(stages_.size());
}

void Runner::await(const Stage& stage, Limits& limits) {
    const Nanoseconds end_ns = stage.patience_ns ? clock_.monotonic_ns() + *stage.patience_ns : limits.end_ns;
    while (!stage.is_drained() && clock_.monotonic_ns() < end_ns) {
        makes_threads_.pause(look_again_ns);
        if (limits.gave_up || clock_.monotonic_ns() < limits.subscribers_ns) continue;
        for (const Stage& one : stages_)
            if (one.give_up_subscribers) one.give_up_subscribers();
        limits.gave_up = true;
    }
    if (stuck_stage_.empty() && !stage.is_drained()) stuck_stage_ = stage.name;
    if (stage.patience_ns) limits.end_ns = clock_.monotonic_ns() + drain_limit_ns;
}

/// Ends the threads all of whose stages have drained.
void Runner::end_threads(std::size_t last_stage) {
    for (Thread& thread : threads_)
        if (thread.last_stage <= last_stage) thread.worker->stop();
    close_stages(last_stage);
}

void Runner::close_stages(std::size_t last_stage) {
    for (std::size_t i = 0; i < stages_.size() && i <= last_stage; ++i) {
        const bool is_served = std::ranges::any_of(threads_, [&](const Thread& thread) {
            return thread.last_stage > last_stage &&
                   std::ranges::any_of(thread.served, [&](const Served& one) { return one.stage == &stages_[i]; });
        });
        if (is_served || closed_[i]) continue;
        closed_[i] = true;
        if (stages_[i].close) stages_[i].close();
    }
}

// --- Notices and states

Notices Runner::notices() {
    Notices notices;
    for (const Stage& stage : stages_)
        if (stage.add_notices) stage.add_notices(notices);
    if (!stuck_stage_.empty() && !std::exchange(is_stuck_reported_, true))
        notices.push_back(
            {fmt::format("draining took too long at the stage {}: what was still on the way is not accounted for",
                         stuck_stage_),
             Severity::bad});
    return notices;
}

namespace {

const char* running_words(const Worker& worker) noexcept {
    if (worker.config().wait == WaitPolicy::spin) return ", which spins";
    if (worker.is_realtime()) return " at real-time priority";
    return worker.config().realtime ? ", real-time priority not permitted" : "";
}

}  // namespace

/// Empty if no thread has a core of its own.
std::string Runner::placement_words() const {
    std::string placed, others;
    for (const Thread& thread : threads_) {
        if (!thread.worker || thread.worker->config().goes_first) continue;  // a probe, which only measures
        const ThreadConfig& config = thread.worker->config();
        if (config.core < 0)
            others += fmt::format("{}{}", others.empty() ? "" : ", ", config.name);
        else
            placed += fmt::format("{} on core {}{}; ", config.name, config.core, running_words(*thread.worker));
    }
    return placed.empty() ? "" : fmt::format("{}elsewhere: {}", placed, others.empty() ? "none" : others);
}

States Runner::states() const {
    States states;
    for (const Stage& stage : stages_)
        if (stage.add_states) stage.add_states(states);
    if (std::string words = placement_words(); !words.empty()) states["threads"] = std::move(words);
    return states;
}

Latencies Runner::latency() const {
    Latencies latency;
    for (const Stage& stage : stages_)
        if (stage.add_latency) stage.add_latency(latency);
    return latency;
}

void Runner::keep_page() {
    if (page_ == nullptr) return;
    page_->beat(clock_.wall_ns());
    BufferLevels levels;
    for (const Stage& stage : stages_)
        if (stage.add_buffers) stage.add_buffers(levels);
    for (const auto& [name, level] : levels) {
        BufferCell*& cell = buffers_[name];
        if (cell == nullptr) cell = &page_->add_buffers(name);
        cell->n_buffers.store(level.n_buffers, std::memory_order_relaxed);
        cell->n_free.store(level.n_free, std::memory_order_relaxed);
    }
}

LatenciesOverTime Runner::latency_over_time() const {
    LatenciesOverTime latency;
    for (const Stage& stage : stages_)
        if (stage.add_latency_over_time) stage.add_latency_over_time(latency);
    return latency;
}

}  // namespace anello::pipeline
