// SPDX-License-Identifier: Apache-2.0
#include "exchange/event_manager/event_manager.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace anello::exchange {

EventManager::EventManager(const ExchangeConfig& config, bool in_charge, Outbox& outbox, const Clock& clock,
                           CounterPage& page)
    : config_(config),
      outbox_(outbox),
      clock_(clock),
      counters_(page.add_block<ManagerCounter>("manager")),
      begun_ns_(clock.monotonic_ns()),
      nodes_(config.farm.n_nodes()),
      live_(config.farm.n_nodes()),
      builders_(config.farm.builders.size()),
      drafts_(config.farm.builders.size(), Outbox::none),
      cancelled_(config.farm.builders.size() * config.n_credits),
      outcomes_(config.farm.builders.size() * config.n_credits),
      standby_(config, outbox),
      is_in_charge_(in_charge) {
    for (Builder& builder : builders_) {
        builder.slots.resize(config.n_credits);
        builder.free.reserve(config.n_credits);
    }
    if (!in_charge) {
        known_.resize(std::bit_ceil(4 * (builders_.size() * config.n_credits + config.standby_reserve())));
        again_.reserve(known_.size() + 2 * builders_.size() * config.n_credits);
    }
    lost_builders_.reserve(max_lost_builders);
    lost_meps_.reserve(max_lost_builders * config.n_credits + known_.size());
}

void EventManager::on_hello(Node node, std::uint64_t life) noexcept {
    NodeRecord& known = nodes_[node];
    if (!is_in_charge_) {
        known.greeted_life = life;
        return;
    }
    known.life = life;
    known.has_come = true;
    known.has_stopped = false;
    if (is_live(node)) return;
    if (state_ == State::running) set_live(node, true);
    if (state_ > State::running) known.is_late = is_late_ = true;
}

void EventManager::set_live(Node node, bool is_live) noexcept {
    live_[node] = is_live;
    nodes_[node].first_mep = next_mep_;
    counters_.add(is_live ? ManagerCounter::nodes_joined : ManagerCounter::nodes_lost);
    farm_changed_ = true;
}

void EventManager::start_if_ready(Nanoseconds now_ns) noexcept {
    const bool all = std::all_of(nodes_.begin(), nodes_.end(), [](const NodeRecord& node) { return node.has_come; });
    if (all || now_ns - begun_ns_ >= config_.start_timeout_ns) start();
}

/// Starts the run with the nodes that are connected.
void EventManager::start() noexcept {
    state_ = State::running;
    for (std::size_t node = 0; node < nodes_.size(); ++node) set_live(static_cast<Node>(node), nodes_[node].has_come);
    const Node standby = config_.farm.standby;
    standby_.begin(standby != no_node && is_live(standby), live_, clock_.monotonic_ns());
    check_live();
}

EventManager::BuilderAccount EventManager::account_of(std::uint16_t builder) const noexcept {
    const Node node = config_.farm.builders[builder];
    return {node, nodes_[node].life, builders_[builder].n_complete, builders_[builder].n_incomplete};
}

void EventManager::on_node_gone(Node node) noexcept {
    NodeRecord& known = nodes_[node];
    known.has_come = false;
    known.has_stopped = true;  // no answer to stop is awaited from it
    known.greeted_life = 0;
    standby_.lose(node, clock_.monotonic_ns());
    if (!is_in_charge_ || !is_live(node)) return;
    if (state_ >= State::stopping) {
        live_[node] = false;
    } else {
        set_live(node, false);
    }
    if (config_.farm.builder_of[node] != no_unit) lose_builder(config_.farm.builder_of[node]);
    if (state_ < State::stopping) check_live();
}

std::uint64_t EventManager::n_assigned(const Builder& builder) noexcept {
    return static_cast<std::uint64_t>(std::ranges::count_if(builder.slots, &Slot::is_assigned));
}

std::vector<std::uint64_t> EventManager::open_meps(std::uint16_t builder) const {
    std::vector<std::uint64_t> open;
    for (const Slot& slot : builders_[builder].slots)
        if (slot.is_assigned) open.push_back(slot.mep);
    return open;
}

void EventManager::settle() noexcept {
    if (std::exchange(is_settled_, true)) return;
    for (const Builder& builder : builders_) counters_.add(ManagerCounter::meps_open_at_end, n_assigned(builder));
}

/// Notes the MEPs that a lost builder held, before they are forgotten.
void EventManager::note_lost(std::uint16_t builder) noexcept {
    Builder& lost = builders_[builder];
    counters_.add(ManagerCounter::complete_at_lost_builders, lost.n_complete);
    counters_.add(ManagerCounter::incomplete_at_lost_builders, lost.n_incomplete);
    if (lost_builders_.size() < max_lost_builders) {
        LostBuilder noted{account_of(builder), lost_meps_.size(), 0};
        for (const Slot& slot : lost.slots)
            if (slot.is_assigned) lost_meps_.push_back(slot.mep);
        noted.n_meps = lost_meps_.size() - noted.first_mep;
        lost_builders_.push_back(noted);
    } else {
        counters_.add(ManagerCounter::lost_and_not_noted, n_assigned(lost));
    }
    counters_.add(ManagerCounter::meps_lost_with_builder, n_assigned(lost));
    lost.n_complete = lost.n_incomplete = 0;
}

void EventManager::lose_builder(std::uint16_t builder) noexcept {
    note_lost(builder);
    builders_[builder].free.clear();
    for (std::size_t i = 0; i < builders_[builder].slots.size(); ++i) {
        Slot& slot = builders_[builder].slots[i];
        if (slot.is_assigned && is_in_charge_) {
            --n_outstanding_;
            cancelled_.try_push({slot.mep, slot.use, static_cast<std::uint16_t>(i), builder});
        }
        slot = {};
    }
}

void EventManager::check_live() noexcept {
    const auto lives = [this](Node node) { return is_live(node); };
    if (std::none_of(config_.farm.builders.begin(), config_.farm.builders.end(), lives))
        fail("no builder is left");
    else if (std::none_of(config_.farm.readouts.begin(), config_.farm.readouts.end(), lives))
        fail("no readout unit is left");
}

void EventManager::fail(const char* why) noexcept {
    failure_ = why;
    end_run();
}

void EventManager::end_run() noexcept {
    if (state_ == State::gathering) start();
    if (state_ == State::running) state_ = State::ending;
}

void EventManager::on_stopped(Node node) noexcept {
    nodes_[node].has_stopped = true;
}

void EventManager::count_outcome(Builder& builder, bool is_complete) noexcept {
    counters_.add(is_complete ? ManagerCounter::meps_complete : ManagerCounter::meps_incomplete);
    ++(is_complete ? builder.n_complete : builder.n_incomplete);
}

/// A slot that is offered again no longer holds its MEP.
void EventManager::on_credit(std::uint16_t builder, const Credit& credit) noexcept {
    if (!is_in_charge_ || !is_live_builder(builder) || credit.slot >= config_.n_credits)
        return counters_.add(ManagerCounter::credits_refused);
    Slot& slot = builders_[builder].slots[credit.slot];
    if (slot.is_known && credit.use != slot.use + 1) return counters_.add(ManagerCounter::credits_refused);
    std::vector<std::uint16_t>& free = builders_[builder].free;
    const bool is_as_assigned = slot.is_assigned ? credit.mep == slot.mep : credit.n_missing == Credit::never_used;
    if (!is_as_assigned) counters_.add(ManagerCounter::credits_refused);
    if (slot.is_assigned) {
        --n_outstanding_;
        count_outcome(builders_[builder], is_as_assigned && credit.n_missing == 0);
        if (is_as_assigned) counters_.add(ManagerCounter::sources_missing, credit.n_missing);
        if (standby_.state() == StandbyWatch::State::there)
            outcomes_.try_push({slot.mep, builder, credit.slot, is_as_assigned ? credit.n_missing : std::uint16_t{1}});
    }
    if (slot.is_assigned || !slot.is_known) {
        counters_.add(ManagerCounter::credits);
        free.push_back(credit.slot);
    }
    slot = {.is_known = true, .is_assigned = false, .use = credit.use};
}

bool EventManager::try_next_builder(std::uint16_t& builder) noexcept {
    const std::size_t n = builders_.size();
    for (std::size_t i = 0; i < n; ++i) {
        builder = static_cast<std::uint16_t>((next_builder_ + i) % n);
        if (!has_credit(builder)) continue;
        next_builder_ = static_cast<std::uint16_t>((builder + 1) % n);
        return true;
    }
    return false;
}

Assignment EventManager::assign_to(std::uint16_t builder) noexcept {
    const std::uint16_t free = builders_[builder].free.back();
    builders_[builder].free.pop_back();
    Slot& slot = builders_[builder].slots[free];
    slot.is_assigned = true;
    slot.mep = next_mep_;
    ++next_mep_;
    ++n_outstanding_;
    counters_.add(ManagerCounter::meps_assigned);
    return {.mep = slot.mep, .use = slot.use, .slot = free, .builder = builder};
}

void EventManager::post_to_live(Outbox::Message message, bool managers_too) noexcept {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const auto node = static_cast<Node>(i);
        const bool has_unit = config_.farm.readout_of[node] != no_unit || config_.farm.builder_of[node] != no_unit ||
                              node == config_.farm.standby;
        if (is_live(node) && (has_unit || managers_too)) outbox_.post(message, node);
    }
    outbox_.close(message);
}

/// One message with the assignments for all builders, sent to builders and readout units alike.
std::size_t EventManager::push() noexcept {
    std::uint16_t builder = 0;
    if (is_at_limit() || !try_next_builder(builder)) return 0;
    const Outbox::Message message = outbox_.try_open(MessageType::assign);
    if (message == Outbox::none) return 0;
    std::uint32_t n = 0;
    do {
        outbox_.try_add(message, assign_to(builder));
        ++n;
    } while (n < outbox_.max_entries() && !is_at_limit() && try_next_builder(builder));
    post_to_live(message, false);
    return n;
}

/// Each builder receives its own assignments, the standby all of them, and readout units none.
std::size_t EventManager::pull() noexcept {
    std::size_t n = 0;
    std::uint16_t builder = 0;
    while (n < outbox_.max_entries() && !is_at_limit() && try_next_builder(builder)) {
        if (drafts_[builder] == Outbox::none) drafts_[builder] = outbox_.try_open(MessageType::assign);
        if (drafts_[builder] == Outbox::none) break;
        outbox_.try_add(drafts_[builder], assign_to(builder));
        ++n;
    }
    for (builder = 0; builder < builders_.size() && n > 0; ++builder) {
        if (drafts_[builder] == Outbox::none) continue;
        const Node node = config_.farm.builders[builder], standby = config_.farm.standby;
        outbox_.post(drafts_[builder], node);
        if (standby_.state() == StandbyWatch::State::there && standby != node) outbox_.post(drafts_[builder], standby);
        outbox_.close(drafts_[builder]);
        drafts_[builder] = Outbox::none;
    }
    return n;
}

/// Assigns one round, one MEP for each live builder, once all of them have a free slot.
std::size_t EventManager::shift() noexcept {
    const auto n_builders = static_cast<std::uint16_t>(builders_.size());
    for (std::uint16_t builder = 0; builder < n_builders; ++builder)
        if (is_live_builder(builder) && !has_credit(builder)) return 0;
    if (is_over() || next_mep_ + n_builders > limit_mep_) return 0;
    const Outbox::Message message = outbox_.try_open(MessageType::assign);
    if (message == Outbox::none) return 0;
    std::size_t n = 0;
    for (std::uint16_t builder = 0; builder < n_builders && !is_over(); ++builder) {
        if (!is_live_builder(builder)) continue;
        outbox_.try_add(message, assign_to(builder));
        ++n;
    }
    post_to_live(message, false);
    return n;
}

std::size_t EventManager::assign(Nanoseconds now_ns) noexcept {
    if (!standby_.may_assign(live_, now_ns)) {
        counters_.add(ManagerCounter::waits_for_standby);
        if (standby_.is_cut_off(now_ns)) fail("too few nodes have heard that the standby is lost, and may follow it");
        return 0;
    }
    limit_mep_ = standby_.end_mep();
    const std::size_t n = config_.protocol == Protocol::push   ? push()
                          : config_.protocol == Protocol::pull ? pull()
                                                               : shift();
    if (n == 0) counters_.add(ManagerCounter::waits_for_credit);
    if (is_over()) end_run();
    return n;
}

bool EventManager::tell_all(MessageType type, std::uint64_t mep) noexcept {
    const Outbox::Message message = outbox_.try_open(type);
    if (message == Outbox::none) return false;
    outbox_.header(message).mep = mep;
    post_to_live(message, true);
    return true;
}

bool EventManager::tell_farm() noexcept {
    if (!standby_.may_tell()) return false;
    const Outbox::Message message = outbox_.try_open(MessageType::farm);
    if (message == Outbox::none) return false;
    for (std::size_t node = 0; node < nodes_.size(); ++node)
        outbox_.try_add(message, NodeEntry{.node = static_cast<Node>(node),
                                           .live = live_[node],
                                           .first_mep = nodes_[node].first_mep,
                                           .life = short_life(nodes_[node].life),
                                           .is_standby = node == config_.farm.standby &&
                                                         standby_.state() == StandbyWatch::State::there});
    post_to_live(message, true);
    standby_.on_told(live_);
    farm_changed_ = false;
    return true;
}

bool EventManager::tell_cancelled() noexcept {
    while (!cancelled_.empty()) {
        const Outbox::Message message = outbox_.try_open(MessageType::cancel);
        if (message == Outbox::none) return false;
        while (!cancelled_.empty() && outbox_.try_add(message, cancelled_.front())) cancelled_.pop();
        post_to_live(message, false);
    }
    return true;
}

/// A node that connects while the run ends may leave at once.
bool EventManager::tell_stop_to_late() noexcept {
    for (std::size_t node = 0; node < nodes_.size() && is_late_; ++node) {
        if (!nodes_[node].is_late) continue;
        if (!outbox_.try_send(MessageType::stop, static_cast<Node>(node))) return false;
        nodes_[node].is_late = false;
    }
    is_late_ = false;
    return true;
}

bool EventManager::tell_changes() noexcept {
    return tell_outcomes() && (!farm_changed_ || tell_farm()) && tell_again() && tell_cancelled() &&
           tell_stop_to_late();
}

void EventManager::end_if_done() noexcept {
    if (state_ == State::ending && !end_told_) end_told_ = tell_all(MessageType::end, next_mep_);
    if (state_ == State::ending && end_told_ && n_outstanding_ == 0 && tell_all(MessageType::stop, next_mep_))
        state_ = State::stopping;
    bool are_done = true;
    for (std::size_t node = 0; node < nodes_.size(); ++node) are_done &= !live_[node] || nodes_[node].has_stopped;
    if (state_ == State::stopping && are_done) state_ = State::stopped;
}

/// Sends outcomes to the standby: before new assignments to the same slots, and before a list without their builder.
bool EventManager::tell_outcomes() noexcept {
    if (standby_.state() != StandbyWatch::State::there)
        while (!outcomes_.empty()) outcomes_.pop();
    if (!standby_.has_room()) return false;
    while (!outcomes_.empty()) {
        const Outbox::Message message = outbox_.try_open(MessageType::outcome);
        if (message == Outbox::none) return false;
        while (!outcomes_.empty() && outbox_.try_add(message, outcomes_.front())) outcomes_.pop();
        outbox_.post(message, config_.farm.standby);
        outbox_.close(message);
    }
    return true;
}

std::size_t EventManager::do_work(Nanoseconds now_ns) noexcept {
    if (!is_in_charge_) return 0;
    standby_.note(next_mep_, now_ns);
    if (state_ == State::gathering) start_if_ready(now_ns);
    if (state_ == State::gathering || !tell_changes()) return 0;
    const std::size_t n_assigned = state_ == State::running ? assign(now_ns) : 0;
    end_if_done();
    return n_assigned;
}

}  // namespace anello::exchange
