// SPDX-License-Identifier: Apache-2.0
#include "exchange/builder/mep_output.hpp"

#include <limits>

#include "core/thread.hpp"

namespace anello::exchange {

MepOutput::MepOutput(const ExchangeConfig& config, MepSlots& slots, MepSink& sink, const Clock& clock,
                     Counters<BuilderCounter> counters, CounterPage& page)
    : packing_(config.packing),
      slots_(slots),
      sink_(sink),
      clock_(clock),
      counters_(counters),
      ready_(config.n_credits),
      handed_on_(config.n_credits + config.n_unheard()),
      ready_to_built_(page.add_leg("ready_to_built")),
      first_to_built_(page.add_leg("first_to_built")) {}

void MepOutput::add(std::uint32_t slot) noexcept {
    const MepSlots::Slot& closed = slots_[slot];
    const Nanoseconds now_ns = clock_.wall_ns();
    if (closed.ready_ns != 0) ready_to_built_.record(now_ns, now_ns - closed.ready_ns);
    if (closed.begun_ns != 0) first_to_built_.record(now_ns, clock_.monotonic_ns() - closed.begun_ns);
    ready_.try_push(slot);  // has room for all slots
}

std::size_t MepOutput::pass_on() noexcept {
    std::size_t n_done = 0;
    for (std::size_t n_left = ready_.size(); n_left > 0 && try_pass_on(ready_.front()); --n_left) {
        ready_.pop();
        ++n_done;
    }
    return n_done;
}

bool MepOutput::try_pass_on(std::uint32_t slot) noexcept {
    MepSlots::Slot& given = slots_[slot];
    const MepView view{.mep = given.mep,
                       .first_event = given.mep * packing_,
                       .n_events = packing_,
                       .slot = slot,
                       .n_missing = given.n_missing,
                       .built_ns = clock_.wall_ns(),
                       .mfps = slots_.mfps(slot)};
    if (!sink_.try_take(view)) {
        counters_.add(BuilderCounter::waits_for_sink);
        return false;
    }
    given.state = State::with_sink;
    ++n_with_sink_;
    note(slot);
    return true;
}

/// Called when the next stage has taken it: an MEP that is closed and finds no room until the end counts as not built.
void MepOutput::note(std::uint32_t slot) noexcept {
    const MepSlots::Slot& given = slots_[slot];
    counters_.add(given.n_missing == 0 ? BuilderCounter::meps_complete : BuilderCounter::meps_incomplete);
    counters_.add(BuilderCounter::events_built, packing_);
    for (const auto& mfp : slots_.mfps(slot)) counters_.add(BuilderCounter::bytes_built, mfp.size());
    handed_on_[slot] = {given.mep, static_cast<std::uint16_t>(given.n_missing), true};
    const std::size_t n_lately = handed_on_.size() - slots_.size();
    if (n_lately > 0) handed_on_[slots_.size() + n_handed_on_++ % n_lately] = handed_on_[slot];
}

bool MepOutput::try_take_back(std::uint32_t& slot) noexcept {
    if (!sink_.try_give_back(slot)) return false;
    slots_[slot].state = State::over;
    --n_with_sink_;
    return true;
}

Nanoseconds MepOutput::next_look_ns(Nanoseconds now_ns) const noexcept {
    const bool is_empty = n_with_sink_ == 0 && ready_.empty();
    return is_empty ? std::numeric_limits<Nanoseconds>::max() : now_ns + usual_wait_ns;
}

}  // namespace anello::exchange
