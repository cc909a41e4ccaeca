// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/clock.hpp"
#include "exchange/event_manager/takeover.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/messages/messages.hpp"
#include "exchange/station/following.hpp"
#include "exchange/station/node_links.hpp"
#include "exchange/station/node_units.hpp"

namespace anello::exchange {

/// At the standby: which nodes follow it, and when it may become the manager (docs/decisions/0021-standby.md).
class Followers {
  public:
    /// The standby's message: it is active; it asks which nodes have lost the manager; it calls all, as most have.
    enum class Call : std::uint16_t { in_charge, asked, called };

    /// All arguments must outlive the object.
    Followers(const ExchangeConfig& config, const NodeLinks& links, const NodeUnits& units, const Following& following);

    // Hot path: no allocation, no lock, no log, no throw.
    /// Returns false if the message is not valid.
    bool on_follow(Node from, const MessageHeader& header, std::span<const std::byte> entries) noexcept;
    /// What the node reported before belongs to an earlier connection or process.
    void forget(Node node) noexcept { takeover_.forget(node); }
    /// Asks and calls nodes when it is time. Returns whether the standby is to take over now: not before the manager
    /// has noticed that the standby does not follow it, unless the manager's process has ended. `may_lose`: the
    /// transport may lose messages.
    bool is_due(Nanoseconds now_ns, bool may_lose) noexcept;
    /// A live node that could follow, and has not.
    bool is_missing(Node node) const noexcept;
    const Takeover& takeover() const noexcept { return takeover_; }

  private:
    bool is_supported() const noexcept;
    bool have_all_followed() const noexcept;
    bool is_awaited(Node node) const noexcept;
    Nanoseconds wait_ns(bool may_lose) const noexcept;
    bool try_send(Call call) const noexcept;

    const ExchangeConfig& config_;
    const NodeLinks& links_;
    const NodeUnits& units_;
    const Following& following_;
    Takeover takeover_;
    bool has_called_ = false;  ///< all nodes
    Nanoseconds called_ns_ = 0, asked_ns_ = 0;
};

}  // namespace anello::exchange
