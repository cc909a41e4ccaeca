// SPDX-License-Identifier: Apache-2.0
#include "exchange/station/connections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace anello::exchange {

using fabric::PeerState;

Connections::Connections(const ExchangeConfig& config, const Clock& clock, NodeLinks& links, ControlPlaces& places,
                         NodeUnits& units, Following& following, Followers* followers, NodeRun& run)
    : config_(config),
      clock_(clock),
      links_(links),
      places_(places),
      units_(units),
      following_(following),
      followers_(followers),
      run_(run) {}

void Connections::connect(Node node, std::uint64_t life, std::span<const std::byte> address) {
    NodeLinks::Link& link = links_[node];
    if (node == config_.farm.manager && link.life != 0 && link.life != short_life(life)) following_.note_manager_dead();
    if (units_.manager()) units_.manager()->note_life(node, life);
    if (link.is_up) lose(node, NodeState::broken);  // it returned before its loss was noticed
    links_.set_seen(node, NodeState::connecting);
    fabric_->connect(node, address);
    link.address.assign(address.begin(), address.end());
    link.retry_until_ns = clock_.monotonic_ns() + config_.start_timeout_ns;
    links_.note_life(node, short_life(life));
}

void Connections::on_up(Node node) noexcept {
    links_.set_up(node);
    units_.outbox().reset(node);
    if (followers_) {
        followers_->forget(node);
        if (node == following_.manager()) units_.outbox().be_prompt(node);
        if (units_.manager()->has_taken_over()) units_.outbox().try_send(MessageType::takeover, node);
    }
    units_.on_link(node, links_[node]);
}

void Connections::take_down(Node node, NodeState why) noexcept {
    links_.set_down(node, why);
    places_.free_all(node);
    units_.outbox().reset(node);
    units_.on_link(node, links_[node]);
    if (node == config_.farm.manager && why == NodeState::reported_gone) following_.note_manager_dead();
    if (followers_) followers_->forget(node);
    if (units_.manager()) units_.manager()->on_node_gone(node);
    if (!units_.is_managing() && node == following_.manager() && run_.is_before_end() &&
        !may_retry(node, links_.now_ns()))
        lose_manager();
}

void Connections::lose(Node node, NodeState why) noexcept {
    fabric_->disconnect(node);
    take_down(node, why);
}

/// With a standby this node follows it; without one the run ends here.
void Connections::lose_manager() noexcept {
    if (may_follow()) return begin_to_follow();
    const Node manager = following_.manager();
    run_.leave(fmt::format("the event manager, node {}, is {}", manager, name_of(links_.seen(manager))));
}

void Connections::begin_to_follow() noexcept {
    following_.begin(run_.has_begun());
    run_.pass_end_on_again();
    // watch() disconnects the former manager; here the transport may be in the midst of a message.
    next_watch_ns_ = links_.now_ns();
}

/// Before the run, a live node may be slow enough to be considered dead.
bool Connections::may_retry(Node node, Nanoseconds now_ns) const noexcept {
    return !links_[node].listed.live && now_ns < links_[node].retry_until_ns && run_.state() <= NodeRun::State::greeted;
}

/// PERF NOTE: runs several times per peer timeout, not at each step, which would be costly with a thousand nodes.
void Connections::watch(Nanoseconds now_ns) noexcept {
    next_watch_ns_ = now_ns + config_.peer_timeout_ns / 8;
    if (!fabric_->reliable()) next_watch_ns_ = std::min(next_watch_ns_, now_ns + OutboxConfig{}.resend_ns / 2);
    for (std::size_t node = 0; node < links_.size(); ++node) watch(static_cast<Node>(node), now_ns);
}

/// The manager watches all nodes, and every node watches the manager.
void Connections::watch(Node node, Nanoseconds now_ns) noexcept {
    const NodeLinks::Link& link = links_[node];
    if (link.must_disconnect) return lose(node, NodeState::declared_gone);
    const bool is_manager = node == following_.manager(), is_managing = units_.is_managing();
    const PeerState transport = fabric_->state(node);
    const bool is_lost = transport == PeerState::down || transport == PeerState::absent;  // absent: after lose()
    if (!link.is_up && is_lost && may_retry(node, now_ns)) {
        links_.set_seen(node, NodeState::connecting);
        fabric_->connect(node, link.address);  // does not throw: this address was accepted before
        if (is_manager) run_.start_again();
        return;
    }
    // When its connection broke there was still time to connect again, and now there is not.
    if (is_lost && !is_managing && is_manager && run_.state() == NodeRun::State::greeted && !following_.is_under_way())
        return lose_manager();
    const bool is_watched = is_managing ? node != config_.self : is_manager;
    if (!is_watched || !link.is_up || run_.state() >= NodeRun::State::finished) return;
    Outbox& outbox = units_.outbox();
    if (outbox.is_sent(node) && now_ns - outbox.last_sent_ns(node) > config_.peer_timeout_ns / 4)
        outbox.try_send(MessageType::alive, node);
    if (now_ns - link.heard_ns > links_.silence_ns()) lose(node, NodeState::silent);
}

void Connections::settle() noexcept {
    for (std::size_t node = 0; node < links_.size(); ++node) {
        if (!std::exchange(links_[node].must_disconnect, false)) continue;
        links_[node].is_up = false;
        units_.on_link(static_cast<Node>(node), links_[node]);
    }
    units_.settle();
}

}  // namespace anello::exchange
