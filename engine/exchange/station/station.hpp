// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "exchange/station/connections.hpp"
#include "exchange/station/control_places.hpp"
#include "exchange/station/followers.hpp"
#include "exchange/station/following.hpp"
#include "exchange/station/node_links.hpp"
#include "exchange/station/node_run.hpp"
#include "exchange/station/node_units.hpp"
#include "exchange/station/reception.hpp"
#include "exchange/station/wait_causes.hpp"

namespace anello::exchange {

/// The units of one node on one fabric. It carries messages to the unit that they are for, watches the other nodes, and
/// knows when the run is over. Each of its parts knows only parts that stand before it here. It has no thread of its
/// own; one thread calls all members but the constructor.
class Station {
  public:
    /// `ring` and `sink` may be null if this node has no readout unit or no builder. All arguments must outlive the
    /// object. Throws ConfigError.
    Station(const ExchangeConfig& config, memory::Kind memory, MfpRing* ring, MepSink* sink, const Clock& clock,
            CounterPage& page);
    /// What the fabric that is passed to join() must be made with.
    fabric::Listener& listener() noexcept { return reception_; }
    /// Call it once, before anything else.
    void join(fabric::Fabric& fabric);
    /// The time limits for other nodes to connect start now; without this call they start at join().
    void begin() noexcept;
    /// Begins to connect, also to a restarted node, which has another life. Throws ConfigError if the address is
    /// invalid.
    void connect(Node node, std::uint64_t life, std::span<const std::byte> address) {
        connections_.connect(node, life, address);
    }

    // Hot path: no allocation, no lock, no log, no throw.
    std::size_t do_work() noexcept;
    /// When there is work to do even if no message arrives.
    Nanoseconds next_due_ns() const noexcept;
    /// Orderly end of the whole run: asks the manager to end it.
    void request_end() noexcept { run_.request_end(); }
    /// The control plane reports that a node is gone.
    void lose(Node node, NodeState why) noexcept { connections_.lose(node, why); }
    void count_sleep() noexcept { counters_.add(StationCounter::sleeps); }
    /// Call it after the last do_work().
    void settle() noexcept { connections_.settle(); }

    // Any thread.
    bool finished() const noexcept { return run_.state() == NodeRun::State::finished; }
    bool failed() const noexcept { return run_.state() == NodeRun::State::failed; }
    /// Why the node ended early; empty if it did not. Valid once finished or failed.
    const std::string& failure() const noexcept { return run_.failure(); }
    NodeState seen(Node node) const noexcept { return links_.seen(node); }
    /// The node whose assignments this station accepts.
    Node manager_node() const noexcept { return following_.manager(); }
    /// Distinguishes this process from one that replaces it.
    std::uint64_t life() const noexcept { return run_.life(); }
    const Farm& farm() const noexcept { return config_.farm; }

    /// With the processes to which the numbers of MFPs sent and received refer.
    const NodeLinks& links() const noexcept { return links_; }
    const ReadoutUnit* readout() const noexcept { return units_.readout(); }
    const BuilderUnit* builder() const noexcept { return units_.builder(); }
    /// The event manager of this node: one that is active, was active, or may take over. Null on other nodes.
    const EventManager* manager() const noexcept { return units_.manager(); }

  private:
    void follow(Nanoseconds now_ns) noexcept;
    void take_over(Nanoseconds now_ns) noexcept;

    const ExchangeConfig config_;
    const Clock& clock_;
    Counters<StationCounter> counters_;
    fabric::Fabric* fabric_ = nullptr;
    NodeLinks links_;
    ControlPlaces places_;
    NodeUnits units_;
    WaitCauses waits_;
    Following following_;
    std::unique_ptr<Followers> followers_;  ///< null if this node is not the standby
    NodeRun run_;
    Connections connections_;
    Reception reception_;
};

}  // namespace anello::exchange
