// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "exchange/exchange_counters.hpp"
#include "exchange/messages/messages.hpp"
#include "fabric/fifo.hpp"

namespace anello::exchange {

struct OutboxConfig {
    Node self = 0;
    std::size_t n_nodes = 1;
    std::uint32_t n_messages = 64;       ///< messages on their way at a time
    std::uint32_t max_entries = 256;     ///< entries of one message
    std::uint32_t window = 8;            ///< maximum unacknowledged messages per node, which has as many places
    Nanoseconds resend_ns = 20'000'000;  ///< if the transport may lose
};

/// Control messages of a node: delivered in order, once, with one copy for all addressees. Memory is allocated in the
/// constructor. A message is kept until it is acknowledged, so that the addressee always has a place for it; if the
/// transport may lose, it is sent again after resend_ns.
class Outbox {
  public:
    using Message = std::uint32_t;
    static constexpr Message none = 0xffffffff;
    static constexpr std::uint64_t token_bit = std::uint64_t{1} << 63;  ///< marks tokens of this object

    Outbox(const OutboxConfig& config, fabric::Fabric& fabric, const Clock& clock, Counters<StationCounter> counters);

    // Hot path: no allocation, no lock, no log, no throw.
    /// Opens a new message, to be written, posted to each addressee, and closed. Returns none if all messages are in
    /// use.
    Message try_open(MessageType type) noexcept;
    MessageHeader& header(Message message) noexcept { return messages_[message].header; }
    /// Returns false if the message is full.
    template <typename Entry>
    bool try_add(Message message, const Entry& entry) noexcept {
        Record& record = messages_[message];
        if (record.header.n_entries == config_.max_entries) return false;
        write(entry, bytes(message) + entry_bytes * record.header.n_entries++);
        return true;
    }
    std::uint32_t max_entries() const noexcept { return config_.max_entries; }
    void post(Message message, Node to) noexcept;
    void close(Message message) noexcept { release(message); }
    /// Sends a message without entries; returns false if all messages are in use.
    bool try_send(MessageType type, Node to, std::uint64_t mep = 0) noexcept;

    /// Gives the transport as many messages as it takes. Returns their number.
    std::size_t flush() noexcept;
    void on_done(std::uint64_t token) noexcept;
    /// Whether this control message is the next one of its sender; any other one must be ignored.
    bool accept(const MessageHeader& header) noexcept;
    /// A connection began or ended: both sides restart their numbers.
    void reset(Node node) noexcept;
    /// Whether all posted messages were sent; if the transport may lose: whether all have arrived.
    bool is_sent(Node node) const noexcept {
        const Link& link = links_[node];
        return link.queue.size() == link.n_sent && (link.n_sent == 0 || fabric_.reliable());
    }
    /// Number of the last control message posted to a node over its current connection, and of the last one that the
    /// node acknowledged.
    std::uint32_t posted(Node node) const noexcept {
        return links_[node].first_sequence + static_cast<std::uint32_t>(links_[node].queue.size()) - 1;
    }
    std::uint32_t acknowledged(Node node) const noexcept { return links_[node].first_sequence - 1; }
    /// Acknowledges each message of this node at once, until its connection ends.
    void be_prompt(Node node) noexcept { links_[node].is_prompt = true; }
    Nanoseconds last_sent_ns(Node node) const noexcept { return links_[node].last_sent_ns; }

  private:
    struct Record {
        MessageHeader header;
        std::uint32_t n_uses = 0;  ///< the writer, each queue that holds it, each unfinished send
    };
    struct Link {
        explicit Link(std::size_t n_messages) : queue(n_messages) {}
        fabric::Fifo<Message> queue;  ///< the first `n_sent` are sent, and not acknowledged
        std::uint32_t n_sent = 0;
        std::uint32_t first_sequence = 1;    ///< sequence of the first in the queue
        std::uint32_t received = 0;          ///< sequence of the last message accepted
        std::uint32_t n_unacknowledged = 0;  ///< received and not yet acknowledged
        Nanoseconds last_sent_ns = 0;
        bool is_due = false;
        bool is_prompt = false;  ///< each message is acknowledged at once
    };

    std::byte* bytes(Message message) noexcept { return memory_.data() + message * config_.max_entries * entry_bytes; }
    void release(Message message) noexcept;
    bool try_send(Node to, Link& link) noexcept;
    std::size_t flush(Node to, Link& link) noexcept;
    bool must_acknowledge(const Link& link) const noexcept;
    bool has_work(const Link& link) const noexcept;
    void mark_due(Node node) noexcept;
    void acknowledge_if_due(Node to, Link& link) noexcept;
    void forget(Link& link, std::uint32_t n_messages) noexcept;

    const OutboxConfig config_;
    fabric::Fabric& fabric_;
    const Clock& clock_;
    Counters<StationCounter> counters_;
    std::vector<std::byte> memory_;
    std::vector<Record> messages_;
    std::vector<Message> free_;
    std::vector<Link> links_;
    std::vector<Node> due_, flushing_;  ///< nodes that may need a message or an acknowledgement
};

}  // namespace anello::exchange
