// SPDX-License-Identifier: Apache-2.0
#include "exchange/station/node_links.hpp"

#include <algorithm>
#include <array>

namespace anello::exchange {

const char* name_of(NodeState state) noexcept {
    constexpr std::array names{"connecting",
                               "up",
                               "down: its connection broke",
                               "down: nothing was heard of it for too long",
                               "down: the event manager says so",
                               "down: the control plane says so"};
    return names[static_cast<std::size_t>(state)];
}

NodeLinks::NodeLinks(const ExchangeConfig& config)
    : peer_timeout_ns_(config.peer_timeout_ns),
      links_(config.farm.n_nodes()),
      seen_(std::make_unique<std::atomic<NodeState>[]>(config.farm.n_nodes())) {}

bool NodeLinks::are_all_up() const noexcept {
    return std::ranges::all_of(links_, [](const Link& link) { return link.is_up; });
}

void NodeLinks::note_life(Node node, std::uint32_t life) noexcept {
    Link& link = links_[node];
    link.life = life;
    link.is_usable = link.listed.live && link.listed.life == life;
}

void NodeLinks::set_up(Node node) noexcept {
    links_[node].is_up = true;
    links_[node].is_ignored = false;
    note_heard(node);
    set_seen(node, NodeState::up);
}

void NodeLinks::set_down(Node node, NodeState why) noexcept {
    Link& link = links_[node];
    link.is_up = link.is_usable = link.must_disconnect = false;
    set_seen(node, why);
}

bool NodeLinks::apply(const NodeEntry& entry) noexcept {
    Link& link = links_[entry.node];
    link.listed = entry;
    if (entry.life != link.life) return false;  // it concerns an earlier process, whose connection is closed
    // If the connection was made again in the meantime, the manager means the one before.
    if (!entry.live && link.is_usable && link.is_up) link.must_disconnect = true;
    link.is_usable = entry.live;
    if (entry.live) link.retry_until_ns = 0;
    return true;
}

}  // namespace anello::exchange
