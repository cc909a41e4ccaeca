// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/messages/messages.hpp"

namespace anello::exchange {

/// State of another node, as this station sees it.
enum class NodeState : std::uint8_t { connecting, up, broken, silent, declared_gone, reported_gone };
const char* name_of(NodeState state) noexcept;  ///< "up", "connecting", or "down: " and the reason

/// The connections of a station: which are up, which process is at the other end, and when it was last heard.
class NodeLinks {
  public:
    struct Link {
        bool is_up = false;
        std::uint32_t life = 0;  ///< of the process at the other end
        /// processes to which the numbers of MFPs sent and received refer
        std::uint32_t sent_life = 0, received_life = 0;
        NodeEntry listed{};  ///< the manager's entry: of this life, or of an earlier or later one
        /// The manager listed this life since the connection was made: assignments concern the process that is there
        /// now.
        bool is_usable = false;
        bool must_disconnect = false;
        bool is_ignored = false;  ///< a former manager: its messages are neither read nor acknowledged
        std::vector<std::byte> address;
        Nanoseconds retry_until_ns = 0;  ///< until then a connection that breaks before its use is made again
        Nanoseconds heard_ns = 0;
    };

    explicit NodeLinks(const ExchangeConfig& config);

    // Hot path: no allocation, no lock, no log, no throw.
    std::size_t size() const noexcept { return links_.size(); }
    Link& operator[](std::size_t node) noexcept { return links_[node]; }
    const Link& operator[](std::size_t node) const noexcept { return links_[node]; }
    bool are_all_up() const noexcept;

    /// When the present step of work began. Messages of a step are heard at this time.
    Nanoseconds now_ns() const noexcept { return now_ns_; }
    void begin(Nanoseconds now_ns) noexcept { now_ns_ = now_ns; }
    /// After a pause of this process, other nodes need not have been silent.
    void begin_step(Nanoseconds now_ns) noexcept {
        if (now_ns - now_ns_ > peer_timeout_ns_ / 2)
            for (Link& link : links_) link.heard_ns = now_ns;
        now_ns_ = now_ns;
    }
    void note_heard(Node node) noexcept { links_[node].heard_ns = now_ns_; }
    /// A node that pauses for less than the time-out is not dead: before the pause it may have been silent for as long
    /// as any live node.
    Nanoseconds silence_ns() const noexcept { return peer_timeout_ns_ + peer_timeout_ns_ / 2; }

    /// The connection to this process is being made. The manager's list may have arrived before it.
    void note_life(Node node, std::uint32_t life) noexcept;
    void set_up(Node node) noexcept;
    void set_down(Node node, NodeState why) noexcept;
    /// Applies an entry of the manager's list. Returns false if it concerns another process than the connected one.
    bool apply(const NodeEntry& entry) noexcept;

    // Any thread.
    NodeState seen(Node node) const noexcept { return seen_[node].load(std::memory_order_relaxed); }
    void set_seen(Node node, NodeState state) noexcept { seen_[node].store(state, std::memory_order_relaxed); }

  private:
    const Nanoseconds peer_timeout_ns_;
    std::vector<Link> links_;
    std::unique_ptr<std::atomic<NodeState>[]> seen_;  ///< by node
    Nanoseconds now_ns_ = 0;
};

}  // namespace anello::exchange
