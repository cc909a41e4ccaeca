// SPDX-License-Identifier: Apache-2.0
#include "exchange/event_manager/step_barrier.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace anello::exchange {

StepBarrier::StepBarrier(std::uint16_t self, std::size_t n_units, std::size_t n_steps, std::uint32_t ahead,
                         Nanoseconds patience_ns)
    : n_steps_(n_steps),
      ahead_(ahead),
      stride_(std::max<std::uint32_t>(1, ahead / 2)),
      patience_ns_(patience_ns),
      is_live_(n_units),
      phases_(static_cast<std::size_t>(std::bit_width(n_units - 1))),
      known_(phases_.size() + 1) {
    for (std::size_t phase = 0; phase < phases_.size(); ++phase) {
        const std::size_t distance = std::size_t{1} << phase;
        phases_[phase].to = static_cast<std::uint16_t>((self + distance) % n_units);
        phases_[phase].from = static_cast<std::uint16_t>((self + n_units - distance) % n_units);
    }
}

/// PERF NOTE: messages about every step would take longer for 500 units than sending a message of 120 kB does.
void StepBarrier::finish(std::uint64_t step) noexcept {
    step -= step % stride_;
    if (step <= known_.front()) return;
    known_.front() = step;
    learn();
}

bool StepBarrier::hear(std::uint16_t unit, std::size_t phase, std::uint64_t step) noexcept {
    if (phase >= phases_.size() || phases_[phase].from != unit) return false;
    phases_[phase].heard = std::max(phases_[phase].heard, step);
    learn();
    return true;
}

/// A unit that returns knows no steps, and its messages will concern the steps that it reads out.
void StepBarrier::set_live(std::uint16_t unit, bool is_live) noexcept {
    if (is_live_[unit] == is_live) return;
    is_live_[unit] = is_live;
    for (Phase& phase : phases_) {
        if (phase.to == unit) phase.told = 0;
        if (phase.from == unit) phase.heard = 0;
    }
    learn();
}

void StepBarrier::learn() noexcept {
    for (std::size_t phase = 0; phase < phases_.size(); ++phase) {
        const Phase& told = phases_[phase];
        const std::uint64_t heard = is_live_[told.from] ? told.heard : known_[phase];
        known_[phase + 1] = std::max(known_[phase + 1], std::min(known_[phase], heard));
    }
}

StepBarrier::Gate StepBarrier::gate(std::uint64_t step, Nanoseconds now_ns) noexcept {
    if (step >= round_begin_ + n_steps_) {
        round_begin_ = step;
        waited_ns_ = 0;
    }
    const bool is_open = step <= known_.back() + ahead_;
    const Nanoseconds waits_ns = since_ns_ > 0 ? now_ns - since_ns_ : 0;
    const bool is_patient = waited_ns_ + waits_ns <= patience_ns_;
    if (!is_open && is_patient) {
        if (since_ns_ == 0) since_ns_ = now_ns;
        return Gate::closed;
    }
    waited_ns_ += waits_ns;
    since_ns_ = 0;
    return is_open ? Gate::open : Gate::overruled;
}

}  // namespace anello::exchange
