// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/counters/counters.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/messages/messages.hpp"
#include "exchange/station/connections.hpp"
#include "exchange/station/control_places.hpp"
#include "exchange/station/followers.hpp"
#include "exchange/station/following.hpp"
#include "exchange/station/node_links.hpp"
#include "exchange/station/node_run.hpp"
#include "exchange/station/node_units.hpp"

namespace anello::exchange {

/// Receives the messages of a station's fabric: gives each a place, and carries it to the unit or the part of the
/// station that it is for.
class Reception final : public fabric::Listener {
  public:
    /// `followers` is null if this node is not the standby. All arguments must outlive the object.
    Reception(const ExchangeConfig& config, Counters<StationCounter> counters, NodeLinks& links, ControlPlaces& places,
              NodeUnits& units, Following& following, Followers* followers, NodeRun& run, Connections& connections);

    // Hot path: no allocation, no lock, no log, no throw.
    std::span<std::byte> place(Node from, std::span<const std::byte> header,
                               std::size_t payload_bytes) noexcept override;
    void on_message(Node from, std::span<const std::byte> header, std::span<std::byte> payload) noexcept override;
    void on_lost(Node from, std::span<const std::byte> header) noexcept override;
    void on_signal(Node, std::uint64_t) noexcept override {}
    void on_done(Node to, std::uint64_t token, fabric::Status status) noexcept override;
    void on_peer(Node node, fabric::PeerState state) noexcept override;

  private:
    void on_data(Node from, const MessageHeader& header, std::span<std::byte> payload) noexcept;
    void on_control(Node from, const MessageHeader& header, std::span<const std::byte> entries) noexcept;
    bool on_order(const MessageHeader& header, std::span<const std::byte> entries) noexcept;
    void on_farm(std::span<const std::byte> entries) noexcept;
    void on_takeover(Node from, Followers::Call call) noexcept;
    void refuse() noexcept { counters_.add(StationCounter::malformed); }

    const ExchangeConfig& config_;
    Counters<StationCounter> counters_;
    NodeLinks& links_;
    ControlPlaces& places_;
    NodeUnits& units_;
    Following& following_;
    Followers* const followers_;
    NodeRun& run_;
    Connections& connections_;
};

}  // namespace anello::exchange
