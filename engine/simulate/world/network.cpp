// SPDX-License-Identifier: Apache-2.0
#include "simulate/world/network.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"

namespace anello::simulate {

SwitchesConfig NetworkConfig::switches() const {
    return {.n_nodes = n_nodes,
            .nodes_per_leaf = nodes_per_leaf,
            .n_spines = n_spines,
            .card_gbps = gbps,
            .uplink_gbps = uplink_gbps > 0 ? uplink_gbps : gbps,
            .card_sum_gbps = card_sum_gbps,
            .latency_ns = latency_ns,
            .buffer_bytes = buffer_bytes,
            .cell_bytes = cell_bytes,
            .packet_bytes = packet_bytes,
            .packet_overhead_bytes = packet_overhead_bytes,
            .routing = routing,
            .drops = !reliable,
            .n_failed_cables = n_failed_cables,
            .seed = seed};
}

void NetworkConfig::validate() const {
    if (nodes_per_leaf > 0) switches().validate();
}

Network::Network(const NetworkConfig& config, World& world)
    : config_(config),
      world_(world),
      random_(config.seed, 0x6e6574),
      ports_(config.n_nodes, nullptr),
      cards_(config.n_nodes),
      paths_(std::size_t{config.n_nodes} * config.n_nodes) {
    config.validate();
    Switches::Exit& exit = *this;
    if (config.nodes_per_leaf > 0) switches_.emplace(config.switches(), world, exit);
}

void Network::join(Node node, Port& port) noexcept {
    ports_[node] = &port;
    cards_[node].is_off = false;
}

void Network::leave(Node node, const Port& port) noexcept {
    if (ports_[node] == &port) ports_[node] = nullptr;
}

void Network::lose_power(Node node) noexcept {
    Card& card = cards_[node];
    card.is_off = true;
    card.lost_power_ns = card.sends_until_ns = card.takes_until_ns = world_.monotonic_ns();
    if (switches_) switches_->lose_power(node);
}

void Network::slow_down(Node node, double factor) noexcept {
    cards_[node].slowness = factor;
    if (switches_) switches_->slow_down(node, factor);
}

Nanoseconds Network::wire_ns(Node node, const Packet& packet) const noexcept {
    const std::size_t n_bytes = packet.header_bytes + packet.charged_bytes(), frame_bytes = config_.packet_bytes;
    const std::size_t n_frames = std::max<std::size_t>(1, (n_bytes + frame_bytes - 1) / frame_bytes);
    const auto on_wire = static_cast<double>(n_bytes + n_frames * config_.packet_overhead_bytes);
    return static_cast<Nanoseconds>(on_wire * 8 / config_.gbps * cards_[node].slowness);
}

void Network::send(PacketPointer packet) {
    if (may_be_lost(*packet) && packet->fate == Packet::Fate::whole) decide_fate(packet);
    packet->sent_ns = world_.monotonic_ns();
    if (switches_) return enter(std::move(packet));
    Card& card = cards_[packet->from];
    packet->left_ns = std::max(packet->sent_ns, card.sends_until_ns) + wire_ns(packet->from, *packet);
    Nanoseconds head_ns = std::max(packet->sent_ns, card.sends_until_ns) + config_.latency_ns;
    card.sends_until_ns = packet->left_ns;
    if (config_.jitter_ns > 0) head_ns += random_.below(static_cast<std::uint32_t>(config_.jitter_ns));
    Nanoseconds& last_ns = path(packet->from, packet->to).last_head_ns;
    if (!may_be_lost(*packet)) head_ns = last_ns = std::max(head_ns, last_ns);  // others may be overtaken
    put_down(head_ns, Phase::head, std::move(packet));
}

/// Delivers the packet after a random delay if there is jitter; packets of one pair of nodes keep their order.
void Network::enter(PacketPointer packet) {
    if (config_.jitter_ns == 0) return switches_->send(std::move(packet));
    Nanoseconds& last_ns = path(packet->from, packet->to).last_head_ns;
    last_ns = std::max(last_ns, packet->sent_ns + random_.below(static_cast<std::uint32_t>(config_.jitter_ns)));
    put_down(last_ns, Phase::enter, std::move(packet));
}

void Network::on_first_bytes(const PacketPointer& packet) noexcept {
    const bool is_cut = n_cuts_ > 0 && path(packet->from, packet->to).n_cuts > 0;
    if (is_cut || packet->fate == Packet::Fate::lost || cards_[packet->to].is_off || ports_[packet->to] == nullptr ||
        packet->payload.empty())
        return;
    packet->is_begun = true;
    ports_[packet->to]->on_head(packet);
}

void Network::on_last_byte(const PacketPointer& packet) noexcept {
    if (n_cuts_ > 0 && path(packet->from, packet->to).n_cuts > 0) {
        if (!may_be_lost(*packet)) return path(packet->from, packet->to).held.push_back(packet);
        if (!packet->is_begun) return;
        packet->fate = Packet::Fate::cut;
    }
    if (!packet->is_begun) on_first_bytes(packet);  // the first bytes arrived while the link was cut
    deliver(packet);
}

void Network::decide_fate(const PacketPointer& packet) {
    if (random_.uniform() < config_.duplicate) {
        auto second = std::make_shared<Packet>(*packet);
        second->copy.assign(packet->payload.begin(), packet->payload.end());
        second->payload = second->copy;
        second->fate = Packet::Fate::doubled;
        send(std::move(second));
    }
    if (random_.uniform() >= config_.loss) return;
    packet->fate = packet->payload.empty() || random_.below(2) == 0 ? Packet::Fate::lost : Packet::Fate::cut;
}

void Network::put_down(Nanoseconds when_ns, Phase phase, PacketPointer packet) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(under_way_.size()));
        under_way_.emplace_back();
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    under_way_[place] = std::move(packet);
    world_.at(when_ns, *this, std::uint64_t{place} << 2 | static_cast<std::uint64_t>(phase));
}

void Network::on_event(std::uint64_t what) noexcept {
    const auto place = static_cast<std::uint32_t>(what >> 2);
    PacketPointer packet = std::exchange(under_way_[place], nullptr);
    free_.push_back(place);
    if (static_cast<Phase>(what & 3) == Phase::tail) return deliver(packet);
    const Nanoseconds lost_power_ns = cards_[packet->from].lost_power_ns;
    if (static_cast<Phase>(what & 3) == Phase::enter) {
        if (packet->sent_ns > lost_power_ns) switches_->send(std::move(packet));
        return;
    }
    if (packet->sent_ns <= lost_power_ns && packet->left_ns > lost_power_ns) return;
    arrive(std::move(packet));
}

void Network::arrive(PacketPointer packet) {
    Path& way = path(packet->from, packet->to);
    if (way.n_cuts > 0) {
        if (!may_be_lost(*packet)) way.held.push_back(std::move(packet));
        return;
    }
    Card& card = cards_[packet->to];
    if (card.is_off) return;
    Port* const port = ports_[packet->to];
    if (port != nullptr && !packet->payload.empty() && packet->fate != Packet::Fate::lost) port->on_head(packet);
    // PERF NOTE: one event less for answers, if no other packet ends earlier on this card.
    if (packet->length_bytes == 0 && card.takes_until_ns < world_.monotonic_ns()) return deliver(packet);
    card.takes_until_ns = std::max(world_.monotonic_ns(), card.takes_until_ns) + wire_ns(packet->to, *packet);
    put_down(card.takes_until_ns, Phase::tail, std::move(packet));
}

/// If the node has no process, its system reports that to the sender.
void Network::deliver(const PacketPointer& packet) {
    if (cards_[packet->to].is_off) return;
    if (told_) told_(*packet);
    if (ports_[packet->to] != nullptr) return ports_[packet->to]->on_tail(packet);
    if (packet->kind == Packet::Kind::close) return;
    auto refusal = new_packet();
    refusal->kind = Packet::Kind::close;
    refusal->from = packet->to;
    refusal->to = packet->from;
    refusal->from_link = packet->to_link;
    refusal->to_link = packet->from_link;
    send(std::move(refusal));
}

void Network::cut(Node from, Node to) noexcept {
    ++n_cuts_;
    ++path(from, to).n_cuts;
}

void Network::mend(Node from, Node to) noexcept {
    Path& way = path(from, to);
    --n_cuts_;
    if (--way.n_cuts > 0) return;
    for (PacketPointer& packet : std::exchange(way.held, {})) {
        if (!switches_) {
            arrive(std::move(packet));
            continue;
        }
        if (!packet->is_begun) on_first_bytes(packet);
        on_last_byte(packet);
    }
}

}  // namespace anello::simulate
