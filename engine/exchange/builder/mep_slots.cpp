// SPDX-License-Identifier: Apache-2.0
#include "exchange/builder/mep_slots.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace anello::exchange {

MepSlots::MepSlots(const ExchangeConfig& config, memory::Kind memory, std::uint32_t first_use,
                   Counters<BuilderCounter> counters)
    : n_readouts_(config.farm.readouts.size()),
      counters_(counters),
      // One buffer per MFP; the buffers of a slot lie next to each other. Its ring of free buffers is not used.
      memory_({.n_buffers = static_cast<std::uint32_t>(std::max<std::size_t>(2, config.n_credits * n_readouts_)),
               .buffer_bytes = config.max_mfp_bytes,
               .kind = memory}),
      slots_(config.n_credits),
      parts_(config.n_credits * n_readouts_),
      mfps_(config.n_credits * n_readouts_) {
    for (Slot& slot : slots_) slot.use = first_use;
}

std::string MepSlots::describe() const {
    return fmt::format("{} slots of {} x {} bytes, {} memory", slots_.size(), n_readouts_, memory_.buffer_bytes(),
                       memory::name_of(memory_.kind()));
}

void MepSlots::open(std::uint32_t slot, std::uint64_t mep, bool is_assigned) noexcept {
    slots_[slot] = {.state = Slot::State::open, .is_assigned = is_assigned, .mep = mep, .use = slots_[slot].use};
    counters_.set(BuilderCounter::slots_used, ++n_used_);
    counters_.add(BuilderCounter::meps_opened);
    for (std::size_t readout = 0; readout < n_readouts_; ++readout) {
        part_at(slot, readout) = Part::not_expected;
        mfps_[slot * n_readouts_ + readout] = {};
    }
}

void MepSlots::expect(std::uint32_t slot, const MfpSenders& senders) noexcept {
    for (std::size_t readout = 0; readout < n_readouts_; ++readout) {
        if (part(slot, readout) != Part::not_expected || !senders.reads_out(readout, slots_[slot].mep)) continue;
        await(slot, readout);
        if (!senders.is_up(readout)) miss(slot, readout, BuilderCounter::sources_gone);
    }
}

void MepSlots::miss(std::uint32_t slot, std::size_t readout, BuilderCounter why) noexcept {
    Part& mine = part_at(slot, readout);
    ANELLO_ASSERT(mine == Part::awaited || mine == Part::arriving);
    mine = mine == Part::awaited ? Part::missing : Part::abandoned;
    --slots_[slot].n_awaited;
    ++slots_[slot].n_missing;
    counters_.add(BuilderCounter::sources_missing);
    counters_.add(why);
}

void MepSlots::miss_if_awaited(std::uint32_t slot, std::size_t readout, BuilderCounter why) noexcept {
    const Part mine = part(slot, readout);
    if (mine == Part::awaited || mine == Part::arriving) miss(slot, readout, why);
}

void MepSlots::cut(std::uint32_t slot, std::size_t readout) noexcept {
    Part& mine = part_at(slot, readout);
    if (mine == Part::arriving || mine == Part::abandoned) --slots_[slot].n_places;
    if (mine == Part::abandoned) mine = Part::missing;
    if (mine == Part::arriving) mine = Part::awaited;
    if (mine == Part::awaited && slots_[slot].state == Slot::State::open)
        miss(slot, readout, BuilderCounter::sources_gone);
}

/// An MEP is complete only with all readout units of the run: one that is gone, or not there yet, is missing, too.
void MepSlots::close(std::uint32_t slot) noexcept {
    slots_[slot].state = Slot::State::ready;
    for (std::size_t readout = 0; readout < n_readouts_; ++readout) {
        if (part(slot, readout) != Part::not_expected) continue;
        part_at(slot, readout) = Part::missing;
        ++slots_[slot].n_missing;
        counters_.add(BuilderCounter::sources_missing);
        counters_.add(BuilderCounter::sources_gone);
    }
}

bool MepSlots::try_free(std::uint32_t slot) noexcept {
    Slot& over = slots_[slot];
    if (over.state != Slot::State::over || over.n_places > 0) return false;
    over.state = Slot::State::free;
    counters_.set(BuilderCounter::slots_used, --n_used_);
    ++over.use;
    return true;
}

}  // namespace anello::exchange
