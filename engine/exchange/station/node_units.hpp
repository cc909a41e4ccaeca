// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "exchange/builder/builder_unit.hpp"
#include "exchange/event_manager/event_manager.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/messages/outbox.hpp"
#include "exchange/readout_unit.hpp"
#include "exchange/station/node_links.hpp"

namespace anello::exchange {

/// The units that a node has by its roles, with the outbox that they share. It carries the entries of messages to the
/// units that they concern.
class NodeUnits {
  public:
    /// `ring` and `sink` may be null if this node has no readout unit or no builder. All arguments must outlive the
    /// object.
    NodeUnits(const ExchangeConfig& config, memory::Kind memory, MfpRing* ring, MepSink* sink, const Clock& clock,
              CounterPage& page, Counters<StationCounter> counters);
    /// Makes the units. Call it once, before all functions below.
    void join(fabric::Fabric& fabric);
    static OutboxConfig outbox_config_of(const ExchangeConfig& config) noexcept;

    // Hot path: no allocation, no lock, no log, no throw.
    Outbox& outbox() const noexcept { return *outbox_; }
    ReadoutUnit* readout() const noexcept { return readout_.get(); }  ///< null if this node has none
    BuilderUnit* builder() const noexcept { return builder_.get(); }  ///< null if this node has none
    /// One that is active, was active, or may take over; null on other nodes.
    EventManager* manager() const noexcept { return manager_.get(); }
    bool is_managing() const noexcept { return manager_ && manager_->is_in_charge(); }
    bool is_standing_by() const noexcept { return manager_ && !manager_->is_in_charge(); }

    /// The connection to a node has changed, or the manager's list has.
    void on_link(Node node, NodeLinks::Link& link) noexcept;
    void on_done(Node to, std::uint64_t token, fabric::Status status) noexcept;
    void on_credit(Node from, std::span<const std::byte> entries) noexcept;
    void on_request(Node from, std::span<const std::byte> entries) noexcept;
    void on_assign(std::span<const std::byte> entries) noexcept;
    void on_again(std::span<const std::byte> entries) noexcept;
    void on_cancel(std::span<const std::byte> entries) noexcept;
    /// The run begins for this node, which reads out from this MEP on.
    void begin_run(std::uint64_t first_mep) noexcept;

    std::size_t do_work(Nanoseconds now_ns) noexcept {
        std::size_t n_done = 0;
        if (readout_) n_done += readout_->do_work(now_ns);
        if (builder_) n_done += builder_->do_work(now_ns);
        if (manager_) n_done += manager_->do_work(now_ns);
        return n_done;
    }
    bool is_empty() const noexcept;
    /// Nothing more will be sent.
    void finish() noexcept;
    /// Call it after the last do_work().
    void settle() noexcept;

  private:
    const ExchangeConfig& config_;
    const memory::Kind memory_;
    MfpRing* const ring_;
    MepSink* const sink_;
    const Clock& clock_;
    CounterPage& page_;
    Counters<StationCounter> counters_;
    std::unique_ptr<Outbox> outbox_;
    std::unique_ptr<ReadoutUnit> readout_;
    std::unique_ptr<BuilderUnit> builder_;
    std::unique_ptr<EventManager> manager_;
};

}  // namespace anello::exchange
