// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/exchange_config.hpp"
#include "exchange/messages/messages.hpp"
#include "exchange/messages/outbox.hpp"

namespace anello::exchange {

/// Where the transport writes control messages that are arriving: some places for each node, as many as it may have
/// messages under way. Memory is allocated in the constructor.
class ControlPlaces {
  public:
    /// `max_entries`: entries of the longest message.
    ControlPlaces(const ExchangeConfig& config, std::uint32_t max_entries);

    // Hot path: no allocation, no lock, no log, no throw.
    /// Returns the place for this message; empty if it is too long, a repetition, or one too many.
    std::span<std::byte> give(Node from, std::uint32_t sequence, std::size_t n_bytes) noexcept;
    void free(Node from, std::uint32_t sequence) noexcept;
    void free_all(Node from) noexcept { placed_[from] = {}; }
    /// Entries of the longest message of a node that does not manage.
    std::size_t n_entries() const noexcept { return place_bytes_ / entry_bytes; }

  private:
    static constexpr std::size_t n_places = OutboxConfig{}.window;  ///< for control messages of one node
    bool sends_lists(Node node) const noexcept { return node == manager_ || node == standby_; }

    const Node manager_, standby_;
    const std::size_t place_bytes_, manager_place_bytes_;
    /// sequence number of the message in each place, by node; 0: free
    std::vector<std::array<std::uint32_t, n_places>> placed_;
    std::vector<std::byte> memory_;  ///< [node][n_places], then the longer places of nodes that may manage
};

}  // namespace anello::exchange
