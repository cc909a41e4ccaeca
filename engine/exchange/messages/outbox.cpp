// SPDX-License-Identifier: Apache-2.0
#include "exchange/messages/outbox.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"

namespace anello::exchange {

Outbox::Outbox(const OutboxConfig& config, fabric::Fabric& fabric, const Clock& clock,
               Counters<StationCounter> counters)
    : config_(config),
      fabric_(fabric),
      clock_(clock),
      counters_(counters),
      memory_(std::size_t{config.n_messages} * config.max_entries * entry_bytes),
      messages_(config.n_messages) {
    links_.reserve(config.n_nodes);
    for (std::size_t node = 0; node < config.n_nodes; ++node) links_.emplace_back(config.n_messages);
    for (auto* nodes : {&due_, &flushing_}) nodes->reserve(config.n_nodes);
    free_.reserve(config.n_messages);
    for (Message message = 0; message < config.n_messages; ++message) free_.push_back(message);
}

Outbox::Message Outbox::try_open(MessageType type) noexcept {
    if (free_.empty()) {
        counters_.add(StationCounter::waits_for_messages);
        return none;
    }
    const Message message = free_.back();
    free_.pop_back();
    messages_[message] = {.header = {.type = type, .from = config_.self}, .n_uses = 1};
    return message;
}

void Outbox::post(Message message, Node to) noexcept {
    if (fabric_.state(to) != fabric::PeerState::up) return;
    [[maybe_unused]] const bool posted = links_[to].queue.try_push(message);
    ANELLO_ASSERT(posted);  // a message is in a queue at most once, and a queue has room for all
    ++messages_[message].n_uses;
    mark_due(to);
    counters_.add(StationCounter::control_sent);
}

bool Outbox::try_send(MessageType type, Node to, std::uint64_t mep) noexcept {
    const Message message = try_open(type);
    if (message == none) return false;
    header(message).mep = mep;
    post(message, to);
    close(message);
    return true;
}

void Outbox::release(Message message) noexcept {
    ANELLO_ASSERT(messages_[message].n_uses > 0);
    if (--messages_[message].n_uses == 0) free_.push_back(message);
}

/// PERF NOTE: with 256 nodes, checking each of them took a third of all processor time.
std::size_t Outbox::flush() noexcept {
    std::size_t n_sent = 0;
    flushing_.swap(due_);
    for (const Node node : flushing_) {
        links_[node].is_due = false;
        n_sent += flush(node, links_[node]);
        if (has_work(links_[node])) mark_due(node);
    }
    flushing_.clear();
    return n_sent;
}

void Outbox::mark_due(Node node) noexcept {
    if (!std::exchange(links_[node].is_due, true)) due_.push_back(node);
}

/// On a transport that may lose, messages that wait for an acknowledgement are work, too: they will be sent again.
bool Outbox::has_work(const Link& link) const noexcept {
    return link.queue.size() > link.n_sent || (link.n_sent > 0 && !fabric_.reliable()) || must_acknowledge(link);
}

std::size_t Outbox::flush(Node to, Link& link) noexcept {
    if (link.n_sent > 0 && !fabric_.reliable() && clock_.monotonic_ns() - link.last_sent_ns > config_.resend_ns) {
        counters_.add(StationCounter::control_resent, link.n_sent);
        link.n_sent = 0;
    }
    std::size_t n_sent = 0;
    while (link.n_sent < std::min<std::size_t>(link.queue.size(), config_.window) && try_send(to, link)) ++n_sent;
    acknowledge_if_due(to, link);
    return n_sent;
}

bool Outbox::try_send(Node to, Link& link) noexcept {
    const Message message = link.queue[link.n_sent];
    MessageHeader header = messages_[message].header;
    header.sequence = link.first_sequence + link.n_sent;
    header.acknowledged = link.received;
    std::array<std::byte, message_header_bytes> head;
    write(header, head);
    const std::span payload(bytes(message), entry_bytes * header.n_entries);
    ++messages_[message].n_uses;  // before send(), which may report at once
    if (fabric_.send(to, head, payload, token_bit | message) != fabric::Status::ok) {
        release(message);
        return false;
    }
    ++link.n_sent;
    link.n_unacknowledged = 0;
    link.last_sent_ns = clock_.monotonic_ns();
    return true;
}

/// Messages in the other direction acknowledge, too. Otherwise an acknowledgement is due every few messages, or for
/// each one if the transport may lose or the sender waits for it.
bool Outbox::must_acknowledge(const Link& link) const noexcept {
    return link.n_unacknowledged >= (fabric_.reliable() && !link.is_prompt ? config_.window / 2 : 1);
}

void Outbox::acknowledge_if_due(Node to, Link& link) noexcept {
    if (!must_acknowledge(link)) return;
    std::array<std::byte, message_header_bytes> head;
    write({.type = MessageType::acknowledge, .from = config_.self, .acknowledged = link.received}, head);
    if (fabric_.send(to, head, {}, token_bit | none) == fabric::Status::ok) link.n_unacknowledged = 0;
}

void Outbox::on_done(std::uint64_t token) noexcept {
    const auto message = static_cast<Message>(token & 0xffffffff);
    if (message != none) release(message);
}

void Outbox::forget(Link& link, std::uint32_t n_messages) noexcept {
    for (; n_messages > 0; --n_messages) {
        release(link.queue.take());
        --link.n_sent;
        ++link.first_sequence;
    }
}

bool Outbox::accept(const MessageHeader& header) noexcept {
    Link& link = links_[header.from];
    const std::uint32_t n_acknowledged = header.acknowledged + 1 - link.first_sequence;  // wraps as sequences do
    if (n_acknowledged <= link.n_sent) forget(link, n_acknowledged);
    mark_due(header.from);
    if (header.type == MessageType::acknowledge) return false;
    ++link.n_unacknowledged;
    // the manager may wait for the acknowledgement
    if (header.type == MessageType::farm) link.n_unacknowledged = config_.window;
    if (header.sequence != link.received + 1) {
        counters_.add(StationCounter::control_out_of_order);
        return false;
    }
    ++link.received;
    counters_.add(StationCounter::control_received);
    return true;
}

void Outbox::reset(Node node) noexcept {
    Link& link = links_[node];
    while (!link.queue.empty()) release(link.queue.take());
    link.n_sent = 0;
    link.first_sequence = 1;
    link.received = 0;
    link.n_unacknowledged = 0;
    link.is_prompt = false;
    link.last_sent_ns = clock_.monotonic_ns();
}

}  // namespace anello::exchange
