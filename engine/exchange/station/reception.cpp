// SPDX-License-Identifier: Apache-2.0
#include "exchange/station/reception.hpp"

namespace anello::exchange {

Reception::Reception(const ExchangeConfig& config, Counters<StationCounter> counters, NodeLinks& links,
                     ControlPlaces& places, NodeUnits& units, Following& following, Followers* followers, NodeRun& run,
                     Connections& connections)
    : config_(config),
      counters_(counters),
      links_(links),
      places_(places),
      units_(units),
      following_(following),
      followers_(followers),
      run_(run),
      connections_(connections) {}

std::span<std::byte> Reception::place(Node from, std::span<const std::byte> header,
                                      std::size_t payload_bytes) noexcept {
    MessageHeader message;
    std::span<std::byte> place;
    if (!read(header, message) || message.from != from) {
        refuse();
    } else if (message.type != MessageType::mfp) {
        place = places_.give(from, message.sequence, payload_bytes);
        if (place.data() == nullptr) refuse();
    } else {
        const std::uint16_t readout = config_.farm.readout_of[from];
        if (units_.builder() && readout != no_unit) return units_.builder()->place(readout, message, payload_bytes);
        refuse();
    }
    return place;
}

void Reception::on_lost(Node from, std::span<const std::byte> header) noexcept {
    MessageHeader message;
    if (!read(header, message)) return;  // place() refused it
    if (message.type != MessageType::mfp)
        places_.free(from, message.sequence);
    else if (units_.builder())
        units_.builder()->on_lost(config_.farm.readout_of[from], message);
}

void Reception::on_message(Node from, std::span<const std::byte> header, std::span<std::byte> payload) noexcept {
    MessageHeader message;
    // Of a message without a payload, place() has not checked the header.
    if (!read(header, message) || message.from != from) return refuse();
    links_.note_heard(from);
    switch (message.type) {
        case MessageType::mfp:
        case MessageType::absent:
        case MessageType::step:
            return on_data(from, message, payload);
        default:
            if (!links_[from].is_ignored && units_.outbox().accept(message)) on_control(from, message, payload);
            if (!payload.empty()) places_.free(from, message.sequence);
    }
}

/// Messages of readout units, which have no place in the order of control messages.
void Reception::on_data(Node from, const MessageHeader& header, std::span<std::byte> payload) noexcept {
    const std::uint16_t readout = config_.farm.readout_of[from];
    if (readout == no_unit) return refuse();
    BuilderUnit* const builder = units_.builder();
    if (header.type == MessageType::step) {
        if (!units_.readout() || !units_.readout()->on_step(readout, header)) refuse();
    } else if (!builder) {
        refuse();
    } else if (header.type == MessageType::mfp) {
        builder->on_mfp(readout, header, payload);
    } else {
        builder->on_absent(readout, header);
    }
}

void Reception::on_control(Node from, const MessageHeader& header, std::span<const std::byte> entries) noexcept {
    if (header.n_entries * entry_bytes != entries.size()) return refuse();
    EventManager* const manager = units_.manager();
    switch (header.type) {
        case MessageType::hello:
            if (manager) return manager->on_hello(from, header.mep);
            break;
        case MessageType::credit:
            if (manager) return units_.on_credit(from, entries);
            break;
        case MessageType::leave:
            if (units_.is_managing()) return manager->end_run();
            break;
        case MessageType::stopped:
            if (units_.is_managing()) return manager->on_stopped(from);
            break;
        case MessageType::request:
            return units_.on_request(from, entries);
        case MessageType::takeover:
            if (from == config_.farm.standby) return on_takeover(from, static_cast<Followers::Call>(header.slot));
            break;
        case MessageType::follow:
            if (followers_ && followers_->on_follow(from, header, entries)) return;
            break;
        case MessageType::alive:
        case MessageType::acknowledge:
            return;
        default:
            if (from == following_.manager() && on_order(header, entries)) return;
    }
    refuse();  // it is for a unit that this node does not have
}

/// Messages that count only if the manager sent them. Returns false if this one is not for this node.
bool Reception::on_order(const MessageHeader& header, std::span<const std::byte> entries) noexcept {
    switch (header.type) {
        case MessageType::farm:
            on_farm(entries);
            return true;
        case MessageType::assign:
            units_.on_assign(entries);
            return true;
        case MessageType::outcome:
            if (!units_.is_standing_by()) return false;
            for_each_entry<Outcome>(entries, [this](const auto& entry) { units_.manager()->follow_outcome(entry); });
            return true;
        case MessageType::again:
            units_.on_again(entries);
            return true;
        case MessageType::cancel:
            units_.on_cancel(entries);
            return true;
        case MessageType::end:
            if (units_.readout()) units_.readout()->on_end(header.mep);
            return true;
        case MessageType::stop:
            run_.on_stop();
            return true;
        default:
            return true;
    }
}

void Reception::on_farm(std::span<const std::byte> entries) noexcept {
    for_each_entry<NodeEntry>(entries, [this](const NodeEntry& entry) {
        if (entry.node < links_.size() && links_.apply(entry)) units_.on_link(entry.node, links_[entry.node]);
        if (units_.is_standing_by()) units_.manager()->follow_farm(entry);
    });
    const NodeLinks::Link& self = links_[config_.self];
    if (!self.is_usable) return;
    if (units_.builder()) units_.builder()->follow(following_.manager());
    following_.end();
    if (run_.has_begun()) return;
    run_.note_begun();
    units_.begin_run(self.listed.first_mep);
}

/// The standby is active, or will be, as more than half of the live nodes follow it; or it asks which nodes do.
void Reception::on_takeover(Node from, Followers::Call call) noexcept {
    const bool is_asked = call == Followers::Call::asked;
    const Node before = following_.manager();
    // a process that replaced it manages nothing
    const bool is_lost = following_.is_manager_dead() || !links_[before].is_up;
    if (before == from || !run_.is_before_end() || (is_asked && !is_lost)) return;
    if (run_.has_begun() || (is_asked && config_.comes_again)) {
        if (connections_.may_follow()) connections_.begin_to_follow();
        return;
    }
    // The manager may have listed this node as live for others: then the standby waits for it.
    if (is_asked || (call == Followers::Call::called && !config_.comes_again)) connections_.begin_to_follow();
    following_.accept(from);
    links_.note_heard(from);
    run_.send_hello();
}

void Reception::on_done(Node to, std::uint64_t token, fabric::Status status) noexcept {
    units_.on_done(to, token, status);
}

void Reception::on_peer(Node node, fabric::PeerState state) noexcept {
    if (state == fabric::PeerState::up) connections_.on_up(node);
    if (state == fabric::PeerState::down) connections_.on_down(node);
}

}  // namespace anello::exchange
