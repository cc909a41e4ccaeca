// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/exchange_config.hpp"
#include "exchange/messages/messages.hpp"

namespace anello::exchange {

/// What nodes report to the standby when they give up the event manager: that they follow, which MEPs they know of, and
/// which MEPs builders hold. Memory is allocated in the constructor.
class Takeover {
  public:
    explicit Takeover(const ExchangeConfig& config);

    // Hot path: no allocation, no lock, no log, no throw.
    /// A message of type `follow`, without its Totals. Returns false if an entry is not valid.
    bool on_follow(Node node, const MessageHeader& header, const Totals& totals,
                   std::span<const std::byte> assignments) noexcept;
    /// What the node reported before belongs to an earlier connection or process.
    void forget(Node node) noexcept;

    /// The node has reported all.
    bool has_followed(Node node) const noexcept { return nodes_[node].has_followed; }
    /// One more than the last MEP that any node knows to be assigned.
    std::uint64_t known_end() const noexcept;
    /// The manager announced the run's end: nothing was assigned from known_end() on.
    bool is_ended() const noexcept;
    /// Each readout unit knows all assignments below this MEP (push, shift).
    std::uint64_t known_to_all() const noexcept;

    struct Slot {
        bool is_told = false;
        std::uint32_t use = 0;
        std::uint64_t mep = free_slot;
    };
    std::span<const Slot> slots_of(std::uint16_t builder) const noexcept {
        return std::span(slots_).subspan(std::size_t{builder} * config_.n_credits, config_.n_credits);
    }
    /// In order; some appear twice.
    std::span<const std::uint64_t> built_lately_by(std::uint16_t builder) const noexcept {
        return std::span(built_).subspan(builder * n_built_, nodes_[config_.farm.builders[builder]].n_built);
    }
    bool has_built(std::uint16_t builder, std::uint64_t mep) const noexcept {
        return std::ranges::binary_search(built_lately_by(builder), mep);
    }
    Totals totals_of(std::uint16_t builder) const noexcept { return nodes_[config_.farm.builders[builder]].totals; }

  private:
    struct Told {
        bool has_followed = false, is_ended = false, has_begun = false;
        std::uint64_t asked_end = 0, known_end = 0;  ///< of its readout unit; of both its units
        Totals totals;
        std::size_t n_built = 0;  ///< reported by its builder
    };

    const ExchangeConfig config_;
    std::vector<Told> nodes_;
    std::vector<Slot> slots_;  ///< [builder][slot]
    const std::size_t n_built_;
    std::vector<std::uint64_t> built_;  ///< [builder][n_built_]
};

}  // namespace anello::exchange
