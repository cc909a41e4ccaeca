// SPDX-License-Identifier: Apache-2.0
#include "exchange/station/followers.hpp"

#include <algorithm>

namespace anello::exchange {

Followers::Followers(const ExchangeConfig& config, const NodeLinks& links, const NodeUnits& units,
                     const Following& following)
    : config_(config), links_(links), units_(units), following_(following), takeover_(config) {}

bool Followers::on_follow(Node from, const MessageHeader& header, std::span<const std::byte> entries) noexcept {
    if (units_.is_managing()) return true;  // too late: this node's connection is being closed
    if (entries.size() < entry_bytes) return false;
    Totals totals;
    read(entries.data(), totals);
    return takeover_.on_follow(from, header, totals, entries.subspan(entry_bytes));
}

/// More than half of the live nodes follow, counting the standby itself and the former manager. A node that restarted
/// in the meantime may have said earlier that it follows none.
bool Followers::is_supported() const noexcept {
    std::size_t n_live = 0, n_following = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const auto node = static_cast<Node>(i);
        if (!units_.manager()->is_live(node)) continue;
        ++n_live;
        const bool may_count = following_.is_manager_dead() || units_.manager()->is_as_told(node);
        n_following += may_count && takeover_.has_followed(node) ? 1 : 0;
    }
    return 2 * n_following > n_live;
}

bool Followers::is_awaited(Node node) const noexcept {
    return node != config_.farm.manager && units_.manager()->is_live(node) && links_[node].is_up &&
           !takeover_.has_followed(node);
}

bool Followers::have_all_followed() const noexcept {
    for (std::size_t node = 0; node < links_.size(); ++node)
        if (is_awaited(static_cast<Node>(node))) return false;
    return true;
}

bool Followers::is_missing(Node node) const noexcept {
    return is_awaited(node) && links_[node].is_usable;
}

/// Where messages may be lost, this allows several attempts.
Nanoseconds Followers::wait_ns(bool may_lose) const noexcept {
    constexpr Nanoseconds n_tries = 10;
    const Nanoseconds least_ns = may_lose ? n_tries * OutboxConfig{}.resend_ns : 0;
    return std::max(config_.peer_timeout_ns / 2, least_ns);
}

/// Sends to the nodes that have not noticed the loss yet, and to those that were not connected yet.
bool Followers::try_send(Call call) const noexcept {
    Outbox& outbox = units_.outbox();
    const Outbox::Message message = outbox.try_open(MessageType::takeover);
    if (message == Outbox::none) return false;
    outbox.header(message).slot = static_cast<std::uint16_t>(call);
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const auto node = static_cast<Node>(i);
        if (links_[node].is_up && !takeover_.has_followed(node)) outbox.post(message, node);
    }
    outbox.close(message);
    return true;
}

bool Followers::is_due(Nanoseconds now_ns, bool may_lose) noexcept {
    const Nanoseconds silent_ns = now_ns - links_[config_.farm.manager].heard_ns;
    const bool may = is_supported() && (following_.is_manager_dead() || silent_ns > config_.peer_timeout_ns);
    const bool is_time_to_ask = !has_called_ && now_ns - asked_ns_ > config_.peer_timeout_ns / 8;
    if (is_time_to_ask && try_send(Call::asked)) asked_ns_ = now_ns;
    if (!may || !takeover_.has_followed(config_.self)) return false;
    if (!has_called_) {
        called_ns_ = now_ns;
        has_called_ = try_send(Call::called);
    }
    return has_called_ && (have_all_followed() || now_ns - called_ns_ >= wait_ns(may_lose));
}

}  // namespace anello::exchange
