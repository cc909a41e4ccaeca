// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/clock.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/station/control_places.hpp"
#include "exchange/station/followers.hpp"
#include "exchange/station/following.hpp"
#include "exchange/station/node_links.hpp"
#include "exchange/station/node_run.hpp"
#include "exchange/station/node_units.hpp"

namespace anello::exchange {

/// Makes the connections to other nodes, watches them, and ends them. A change of a connection concerns nearly all
/// parts of a station: they are brought up to date here. When the manager is lost, the node follows the standby from
/// here on, or leaves the run.
class Connections {
  public:
    /// `followers` is null if this node is not the standby. All arguments must outlive the object.
    Connections(const ExchangeConfig& config, const Clock& clock, NodeLinks& links, ControlPlaces& places,
                NodeUnits& units, Following& following, Followers* followers, NodeRun& run);
    void join(fabric::Fabric& fabric) noexcept { fabric_ = &fabric; }
    /// Begins to connect, also to a restarted node, which has another life. Throws ConfigError if the address is
    /// invalid.
    void connect(Node node, std::uint64_t life, std::span<const std::byte> address);

    // Hot path: no allocation, no lock, no log, no throw.
    /// The transport has connected this node.
    void on_up(Node node) noexcept;
    /// The transport has lost this node.
    void on_down(Node node) noexcept { take_down(node, NodeState::broken); }
    void lose(Node node, NodeState why) noexcept;
    void watch_if_due(Nanoseconds now_ns) noexcept {
        if (now_ns >= next_watch_ns_) watch(now_ns);
    }
    Nanoseconds next_watch_ns() const noexcept { return next_watch_ns_; }
    bool may_follow() const noexcept { return run_.has_begun() && following_.may_begin(); }
    void begin_to_follow() noexcept;
    /// Closes a connection that was still to be closed. Call it after the last step.
    void settle() noexcept;

  private:
    void take_down(Node node, NodeState why) noexcept;
    void lose_manager() noexcept;
    bool may_retry(Node node, Nanoseconds now_ns) const noexcept;
    void watch(Nanoseconds now_ns) noexcept;
    void watch(Node node, Nanoseconds now_ns) noexcept;

    const ExchangeConfig& config_;
    const Clock& clock_;
    fabric::Fabric* fabric_ = nullptr;
    NodeLinks& links_;
    ControlPlaces& places_;
    NodeUnits& units_;
    Following& following_;
    Followers* const followers_;
    NodeRun& run_;
    Nanoseconds next_watch_ns_ = 0;
};

}  // namespace anello::exchange
