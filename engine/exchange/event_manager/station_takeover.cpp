// SPDX-License-Identifier: Apache-2.0
// What a station does when the manager is lost (docs/decisions/0021-standby.md).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "exchange/event_manager/station.hpp"

namespace anello::exchange {

/// With a standby this node follows it; without one the run ends here.
void Station::lose_manager() noexcept {
    if (may_follow()) return begin_to_follow();
    leave(fmt::format("the event manager, node {}, is {}", manager_node(), name_of(seen(manager_node()))));
}

bool Station::may_follow() const noexcept {
    const Node standby = config_.farm.standby;
    return standby != no_node && manager_node() != standby && has_begun_ && links_[standby].is_up &&
           links_[standby].is_usable && links_[standby].said.is_standby;
}

/// From now on the former manager's messages do not count, even if it still lives.
void Station::begin_to_follow() noexcept {
    following_ = Following::telling;
    n_told_ = 0;
    manager_lost_ns_ = worked_ns_;
    Link& before = links_[manager_at_.exchange(config_.farm.standby)];
    // otherwise the connection is to a new process
    before.is_let_go = before.must_disconnect = before.is_up && !is_manager_dead_;
    next_watch_ns_ = worked_ns_;  // watch() disconnects it; here the transport may be in the midst of a message
    links_[manager_node()].heard_ns = worked_ns_;
    end_told_ = false;
    if (builder_ && has_begun_) builder_->begin_to_follow();
}

void Station::follow(Nanoseconds now_ns) noexcept {
    if (state() != State::greeted) return;
    if (following_ == Following::telling && tell_follow()) following_ = Following::waiting;
    if (is_standing_by()) take_over_if_due(now_ns);
    if (now_ns - manager_lost_ns_ <= 3 * silence_ns()) return;
    following_ = Following::no;
    leave(fmt::format("the event manager, node {}, is {}, and too few nodes follow the standby, node {}",
                      config_.farm.manager, name_of(seen(config_.farm.manager)), manager_node()));
}

/// Sends all that this node knows, in as many messages as needed. Returns true when all is sent.
bool Station::tell_follow() noexcept {
    const auto slots = builder_ ? builder_->credits().noted_slots() : std::span<const Assignment>{};
    for (bool is_last = false; !is_last;) {
        const Outbox::Message message = outbox_->try_open(MessageType::follow);
        if (message == Outbox::none) return false;
        outbox_->try_add(message, builder_ ? builder_->credits().noted_totals() : Totals{});
        const std::size_t n_entries = place_bytes_ / entry_bytes;  // as many as fit into the standby's place
        for (std::size_t n = 1; n < n_entries && n_told_ < slots.size(); ++n)
            outbox_->try_add(message, slots[n_told_++]);
        is_last = n_told_ == slots.size();
        MessageHeader& header = outbox_->header(message);
        const bool is_ended = has_begun_ && readout_ && readout_->end_mep() != ReadoutUnit::no_end;
        if (readout_ && has_begun_) header.mep = is_ended ? readout_->end_mep() : readout_->asked_end();
        header.slot = static_cast<std::uint16_t>((is_last ? FollowFlag::last : 0) | (is_ended ? FollowFlag::ended : 0) |
                                                 (has_begun_ ? FollowFlag::begun : 0));
        outbox_->post(message, manager_node());
        outbox_->close(message);
    }
    return true;
}

void Station::on_follow(Node from, const MessageHeader& header, std::span<const std::byte> entries) noexcept {
    if (manager_->is_in_charge()) return;  // too late: this node's connection is being closed
    Totals totals;
    if (entries.size() < entry_bytes) return counters_.add(StationCounter::malformed);
    read(entries.data(), totals);
    if (!takeover_->on_follow(from, header, totals, entries.subspan(entry_bytes)))
        counters_.add(StationCounter::malformed);
}

/// The standby is active, or will be, as more than half of the live nodes follow it; or it asks which nodes do.
void Station::on_takeover(Node from, Call call) noexcept {
    const bool is_asked = call == Call::asked;
    // a process that replaced it manages nothing
    const bool is_lost = is_manager_dead_ || !links_[manager_node()].is_up;
    if (manager_node() == from || state() >= State::leaving || (is_asked && !is_lost)) return;
    if (has_begun_ || (is_asked && config_.comes_again)) {
        if (may_follow()) begin_to_follow();
        return;
    }
    // The manager may have listed this node as live for others: then the standby waits for it.
    if (is_asked || (call == Call::called && !config_.comes_again)) begin_to_follow();
    manager_at_ = from;
    links_[from].heard_ns = worked_ns_;
    state_ = outbox_->try_send(MessageType::hello, from, life_) ? State::greeted : State::connecting;
}

/// More than half of the live nodes follow, counting the standby itself and the former manager. A node that restarted
/// in the meantime may have said earlier that it follows none.
bool Station::is_supported() const noexcept {
    std::size_t n_live = 0, n_following = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const auto node = static_cast<Node>(i);
        if (!manager_->is_live(node)) continue;
        ++n_live;
        const bool may_count = is_manager_dead_ || manager_->is_as_told(node);
        n_following += may_count && takeover_->has_followed(node) ? 1 : 0;
    }
    return 2 * n_following > n_live;
}

bool Station::have_all_followed() const noexcept {
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const auto node = static_cast<Node>(i);
        const bool is_awaited = node != config_.farm.manager && manager_->is_live(node) && links_[node].is_up;
        if (is_awaited && !takeover_->has_followed(node)) return false;
    }
    return true;
}

/// Where messages may be lost, this allows several attempts.
Nanoseconds Station::followers_wait_ns() const noexcept {
    constexpr Nanoseconds n_tries = 10;
    const Nanoseconds least_ns = fabric_->reliable() ? 0 : n_tries * OutboxConfig{}.resend_ns;
    return std::max(config_.peer_timeout_ns / 2, least_ns);
}

/// Calls the nodes that have not noticed the loss yet, and those that were not connected yet.
bool Station::call_followers(Call call) noexcept {
    const Outbox::Message message = outbox_->try_open(MessageType::takeover);
    if (message == Outbox::none) return false;
    outbox_->header(message).slot = static_cast<std::uint16_t>(call);
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const auto node = static_cast<Node>(i);
        if (links_[node].is_up && !takeover_->has_followed(node)) outbox_->post(message, node);
    }
    outbox_->close(message);
    return true;
}

/// Not before the manager has noticed that the standby does not follow it, unless its process has ended.
void Station::take_over_if_due(Nanoseconds now_ns) noexcept {
    const Nanoseconds silent_ns = now_ns - links_[config_.farm.manager].heard_ns;
    const bool may = is_supported() && (is_manager_dead_ || silent_ns > config_.peer_timeout_ns);
    const bool is_time_to_ask = !has_called_ && now_ns - asked_ns_ > config_.peer_timeout_ns / 8;
    if (is_time_to_ask && call_followers(Call::asked)) asked_ns_ = now_ns;
    if (!may || !takeover_->has_followed(config_.self)) return;
    if (!has_called_) {
        called_ns_ = now_ns;
        has_called_ = call_followers(Call::called);
    }
    if (!has_called_ || (!have_all_followed() && now_ns - called_ns_ < followers_wait_ns())) return;
    for (std::size_t node = 0; node < links_.size(); ++node) {
        links_[node].heard_ns = now_ns;
        const bool has_not_come = node != config_.farm.manager && manager_->is_live(static_cast<Node>(node)) &&
                                  links_[node].is_up && links_[node].is_usable &&
                                  !takeover_->has_followed(static_cast<Node>(node));
        if (has_not_come) lose(static_cast<Node>(node), NodeState::silent);
    }
    manager_->take_over(*takeover_, config_.farm.manager);
}

}  // namespace anello::exchange
