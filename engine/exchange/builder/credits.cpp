// SPDX-License-Identifier: Apache-2.0
#include "exchange/builder/credits.hpp"

namespace anello::exchange {

Credits::Credits(const ExchangeConfig& config, Outbox& outbox)
    : outbox_(outbox),
      builder_(config.farm.builder_of[config.self]),
      manager_(config.farm.manager),
      to_offer_(config.n_credits) {
    if (config.farm.standby != no_node) noted_.reserve(2 * config.n_credits + config.n_unheard());
}

void Credits::add_all(const MepSlots& slots) noexcept {
    for (std::uint32_t slot = 0; slot < slots.size(); ++slot)
        if (slots[slot].state == State::free)
            to_offer_.try_push({.use = slots[slot].use, .slot = static_cast<std::uint16_t>(slot)});
}

void Credits::add(std::uint32_t slot, const MepSlots::Slot& freed) noexcept {
    ++(freed.n_missing == 0 ? reported_.n_complete : reported_.n_incomplete);
    to_offer_.try_push({.mep = freed.mep,
                        .use = freed.use,
                        .slot = static_cast<std::uint16_t>(slot),
                        .n_missing = static_cast<std::uint16_t>(freed.n_missing)});
}

void Credits::send() noexcept {
    if (to_offer_.empty() || !is_offering_) return;
    const Outbox::Message message = outbox_.try_open(MessageType::credit);
    if (message == Outbox::none) return;
    while (!to_offer_.empty() && outbox_.try_add(message, to_offer_.front())) to_offer_.pop();
    outbox_.post(message, manager_);
    outbox_.close(message);
}

/// Notes slots and totals for the standby: they include all credits that were not yet sent. The lost manager may have
/// assigned free slots without this unit's knowledge: such data will find no place.
void Credits::begin_to_follow(MepSlots& slots, std::span<const MepOutput::HandedOn> handed_on) noexcept {
    is_offering_ = false;
    while (!to_offer_.empty()) to_offer_.pop();
    noted_totals_ = reported_;
    noted_.clear();
    for (std::uint16_t i = 0; i < slots.size(); ++i) {
        MepSlots::Slot& slot = slots[i];
        if (slot.state == State::free) ++slot.use;
        const std::uint64_t mep = slot.state == State::free ? free_slot : slot.mep;
        noted_.push_back({mep, slot.use, i, builder_});
    }
    for (const MepOutput::HandedOn& one : handed_on)
        if (one.is_known) noted_.push_back({one.mep, 0, built_lately, builder_});
}

void Credits::follow(Node manager) noexcept {
    manager_ = manager;
    is_offering_ = true;
}

}  // namespace anello::exchange
