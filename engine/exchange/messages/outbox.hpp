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
    std::uint32_t n_messages = 64;       ///< on their way at a time
    std::uint32_t max_entries = 256;     ///< of one message
    std::uint32_t window = 8;            ///< maximum unacknowledged messages per node, which has as many places
    Nanoseconds resend_ns = 20'000'000;  ///< where the transport may lose
};

/// Control messages of a node: in order, once, and one copy for all addressees. Memory is taken in the constructor.
/// They are kept until acknowledged, so that the addressee always has a place for them, and, if the transport
/// may lose, resent after a while.
class Outbox {
  public:
    using Message = std::uint32_t;
    static constexpr Message none = 0xffffffff;
    static constexpr std::uint64_t token_bit = std::uint64_t{1} << 63;  ///< of tokens that are ours

    Outbox(const OutboxConfig& config, fabric::Fabric& fabric, const Clock& clock, Counters<StationCounter> counters);

    // Hot path: no allocation, no lock, no log, no throw.
    /// A new message, to be written, posted to each addressee, and closed. None where all are on their way.
    Message try_open(MessageType type) noexcept;
    MessageHeader& header(Message message) noexcept { return messages_[message].header; }
    /// False where the message is full.
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
    /// A message without entries; false where all are on their way.
    bool try_send(MessageType type, Node to, std::uint64_t mep = 0) noexcept;

    /// Gives the transport what it has room for. Returns how many messages.
    std::size_t flush() noexcept;
    void on_done(std::uint64_t token) noexcept;
    /// Whether this control message is the next of its sender; if not it must be ignored.
    bool accept(const MessageHeader& header) noexcept;
    /// A connection began or ended: both sides count anew.
    void reset(Node node) noexcept;
    /// Whether all has gone that was posted; where the transport may lose: has arrived.
    bool is_sent(Node node) const noexcept {
        const Link& link = links_[node];
        return link.queue.size() == link.n_sent && (link.n_sent == 0 || fabric_.reliable());
    }
    /// Numbers of the last control message that was posted to a node over its connection, and of the last that it has
    /// acknowledged.
    std::uint32_t posted(Node node) const noexcept {
        return links_[node].first_sequence + static_cast<std::uint32_t>(links_[node].queue.size()) - 1;
    }
    std::uint32_t acknowledged(Node node) const noexcept { return links_[node].first_sequence - 1; }
    /// What comes of this node is acknowledged at once, until its connection is another.
    void be_prompt(Node node) noexcept { links_[node].is_prompt = true; }
    Nanoseconds last_sent_ns(Node node) const noexcept { return links_[node].last_sent_ns; }

  private:
    struct Record {
        MessageHeader header;
        std::uint32_t n_uses = 0;  ///< the writer, each queue it is in, each unfinished send
    };
    struct Link {
        explicit Link(std::size_t n_messages) : queue(n_messages) {}
        fabric::Fifo<Message> queue;  ///< the first `n_sent` are on their way, and not acknowledged
        std::uint32_t n_sent = 0;
        std::uint32_t first_sequence = 1;    ///< of the first in the queue
        std::uint32_t received = 0;          ///< sequence of the last one taken
        std::uint32_t n_unacknowledged = 0;  ///< received and not yet acknowledged
        Nanoseconds last_sent_ns = 0;
        bool is_due = false;
        bool is_prompt = false;  ///< each is acknowledged at once
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
    std::vector<Node> due_, flushing_;  ///< nodes for which there may be something to send or to acknowledge
};

}  // namespace anello::exchange
