// SPDX-License-Identifier: Apache-2.0
// The event manager of a standby: follows the active one, and may take over (docs/decisions/0021-standby.md).
#include <algorithm>
#include <utility>

#include "exchange/event_manager/event_manager.hpp"

namespace anello::exchange {

void EventManager::note_life(Node node, std::uint64_t life) noexcept {
    NodeRecord& known = nodes_[node];
    if (known.known_life != life) known.life_before = known.known_life;
    known.known_life = life;
}

/// A node that died and returned since the last list counts as another one.
void EventManager::follow_farm(const NodeEntry& entry) noexcept {
    if (entry.node >= nodes_.size()) return;
    NodeRecord& known = nodes_[entry.node];
    const bool is_other = entry.life != short_life(known.life);
    if (!entry.live || is_other) lose_node(entry.node);
    if (is_live(entry.node) || !entry.live) return;
    known.life = entry.life == short_life(known.life_before) ? known.life_before : known.known_life;
    set_live(entry.node, true);
    known.first_mep = entry.first_mep;
}

/// Returns whether a builder is lost with the node.
bool EventManager::lose_node(Node node) noexcept {
    if (!is_live(node)) return false;
    set_live(node, false);
    const std::uint16_t builder = config_.farm.builder_of[node];
    if (builder != no_unit) lose_builder(builder);
    return builder != no_unit;
}

void EventManager::follow_assignment(const Assignment& assignment) noexcept {
    if (assignment.builder >= builders_.size() || assignment.slot >= config_.n_credits) return;
    counters_.add(ManagerCounter::meps_assigned);
    next_mep_ = std::max(next_mep_, assignment.mep + 1);
    note_known(assignment.mep);
    Slot& slot = builders_[assignment.builder].slots[assignment.slot];
    slot = {.is_known = true, .is_assigned = true, .use = assignment.use, .mep = assignment.mep};
}

void EventManager::follow_outcome(const Outcome& outcome) noexcept {
    if (outcome.builder >= builders_.size() || outcome.slot >= config_.n_credits) return;
    Builder& builder = builders_[outcome.builder];
    Slot& slot = builder.slots[outcome.slot];
    if (!slot.is_assigned || slot.mep != outcome.mep) return;
    count_outcome(builder, outcome.n_missing == 0);
    slot = {.is_known = true, .is_assigned = false, .use = slot.use + 1};
}

/// Overwrites the older MEP in the same place, which is no longer needed.
void EventManager::note_known(std::uint64_t mep) noexcept {
    std::uint64_t& place = known_[mep % known_.size()];
    place = std::max(place, mep + 1);
}

/// A builder's own report replaces what the standby followed. MEPs unknown to the builder will not be built.
void EventManager::adopt(std::uint16_t builder, const Takeover& takeover) noexcept {
    Builder& adopted = builders_[builder];
    const Totals totals = takeover.totals_of(builder);
    adopted.n_complete = totals.n_complete;
    adopted.n_incomplete = totals.n_incomplete;
    adopted.free.clear();
    for (const std::uint64_t mep : takeover.built_lately_by(builder)) note_known(mep);
    const auto told = takeover.slots_of(builder);
    for (std::uint16_t i = 0; i < config_.n_credits; ++i) {
        const Slot followed = std::exchange(adopted.slots[i], {});
        const bool is_held = told[i].is_told && told[i].mep != free_slot;
        const bool is_the_same = is_held && followed.is_assigned && told[i].mep == followed.mep;
        if (followed.is_assigned && !is_the_same && !takeover.has_built(builder, followed.mep)) {
            lose(followed.mep);
            again_.push_back({followed.mep, 0, 0, nobody});
        }
        if (!told[i].is_told) continue;
        adopted.slots[i] = {.is_known = true, .is_assigned = is_held, .use = told[i].use, .mep = told[i].mep};
        if (!is_held) {
            adopted.free.push_back(i);
            continue;
        }
        ++n_outstanding_;
        note_known(told[i].mep);
        again_.push_back({told[i].mep, told[i].use, i, builder});
    }
}

/// Begins an entry of lost_builders_, also for a node without builder.
void EventManager::begin_to_lose_with(Node node) noexcept {
    const bool is_noted = !lost_builders_.empty() && lost_builders_.back().account.node == node;
    if (is_noted || lost_builders_.size() == max_lost_builders) return;
    lost_builders_.push_back({{node, nodes_[node].life, 0, 0}, lost_meps_.size(), 0});
}

/// Counts the MEP as lost, with the last entry of lost_builders_.
void EventManager::lose(std::uint64_t mep) noexcept {
    counters_.add(ManagerCounter::meps_lost_with_builder);
    if (lost_meps_.size() == lost_meps_.capacity()) return counters_.add(ManagerCounter::lost_and_not_noted);
    lost_meps_.push_back(mep);
    ++lost_builders_.back().n_meps;
}

void EventManager::take_over(const Takeover& takeover, Node from) noexcept {
    is_in_charge_ = true;
    counters_.add(ManagerCounter::takeovers);
    state_ = takeover.is_ended() ? State::ending : State::running;
    const std::uint64_t followed_end = next_mep_, most = followed_end + config_.standby_reserve();
    const std::uint64_t known_end = std::min(takeover.known_end(), most);  // larger numbers of a node are not believed
    next_mep_ = std::max(followed_end, known_end);
    bool is_builder_lost = false;
    // also those of lost builders, which are subtracted; counted again below
    n_outstanding_ = builders_.size() * config_.n_credits;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const auto node = static_cast<Node>(i);
        if (node == from || !is_live(node)) continue;
        nodes_[i].has_stopped = false;
        if (takeover.has_followed(node) && is_as_told(node)) continue;
        is_builder_lost |= lose_node(node);
        if (!takeover.has_followed(node)) continue;
        nodes_[i].life = nodes_[i].known_life;
        set_live(node, true);
    }
    is_builder_lost |= lose_node(from);  // lost last, so that MEPs nobody knows of are noted with it
    begin_to_lose_with(from);
    if (is_builder_lost && !takeover.is_ended()) next_mep_ = std::max(next_mep_, most);
    if (config_.n_meps > 0) next_mep_ = std::min(next_mep_, std::max(config_.n_meps, known_end));
    n_outstanding_ = 0;
    std::uint64_t n_complete = counters_[ManagerCounter::complete_at_lost_builders];
    std::uint64_t n_incomplete = counters_[ManagerCounter::incomplete_at_lost_builders];
    for (std::uint16_t builder = 0; builder < builders_.size(); ++builder) {
        if (!is_live_builder(builder)) continue;
        adopt(builder, takeover);
        n_complete += builders_[builder].n_complete;
        n_incomplete += builders_[builder].n_incomplete;
    }
    counters_.set(ManagerCounter::meps_complete, n_complete);
    counters_.set(ManagerCounter::meps_incomplete, n_incomplete);
    counters_.set(ManagerCounter::meps_assigned, next_mep_);
    // These MEPs may have been assigned to nodes that are gone, or never were assigned. Pull: of the manager's last
    // step, the standby may have received only some of the messages.
    const auto before = [=](std::uint64_t n) { return followed_end - std::min(followed_end, n); };
    for (std::uint64_t mep = before(known_.size() / 2); mep < next_mep_; ++mep) {
        if (is_known(mep)) continue;
        lose(mep);
        if (mep < followed_end) again_.push_back({mep, 0, 0, nobody});
    }
    std::ranges::sort(again_, {}, &Assignment::mep);
    again_end_ = next_mep_;
    again_mep_ = config_.protocol == Protocol::pull ? followed_end : takeover.known_to_all();
    // data of older MEPs find no place any more
    again_mep_ = std::clamp(again_mep_, before(known_.size()), again_end_);
    farm_changed_ = true;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {  // nodes that connected while no manager was active
        const auto node = static_cast<Node>(i);
        if (nodes_[i].greeted_life != 0 && !is_live(node)) on_hello(node, nodes_[i].greeted_life);
    }
    check_live();
}

/// Announces MEPs in their order, including those that nobody builds.
bool EventManager::tell_again() noexcept {
    while (n_again_told_ < again_.size() || again_mep_ < again_end_) {
        const Outbox::Message message = outbox_.try_open(MessageType::again);
        if (message == Outbox::none) return false;
        bool has_room = true;
        while (has_room && (n_again_told_ < again_.size() || again_mep_ < again_end_)) {
            const bool is_assigned = n_again_told_ < again_.size() && again_[n_again_told_].mep <= again_mep_;
            const bool is_last = again_mep_ >= again_end_;
            Assignment entry{again_mep_, 0, 0, nobody};
            if (is_assigned || is_last) entry = again_[n_again_told_];
            has_room = outbox_.try_add(message, entry);
            if (!has_room) break;
            if (is_assigned || is_last) ++n_again_told_;
            if (entry.mep == again_mep_ && !is_last) ++again_mep_;
        }
        post_to_live(message, false);
    }
    return true;
}

}  // namespace anello::exchange
