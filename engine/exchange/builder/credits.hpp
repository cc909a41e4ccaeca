// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exchange/builder/mep_output.hpp"
#include "exchange/builder/mep_slots.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/messages/messages.hpp"
#include "exchange/messages/outbox.hpp"
#include "fabric/fifo.hpp"

namespace anello::exchange {

/// What a builder unit reports to the manager: each free slot, which is a credit, with the outcome of the slot's last
/// MEP. When the manager is lost, it notes for the standby what all slots hold.
class Credits {
  public:
    /// All arguments must outlive the object.
    Credits(const ExchangeConfig& config, Outbox& outbox);

    // Hot path: no allocation, no lock, no log, no throw.
    /// Offers all free slots; called once, at the beginning.
    void add_all(const MepSlots& slots) noexcept;
    /// This slot is free again.
    void add(std::uint32_t slot, const MepSlots::Slot& freed) noexcept;
    /// Sends all offers, as far as there is room for messages.
    void send() noexcept;
    bool is_empty() const noexcept { return to_offer_.empty(); }

    /// The manager is lost, and the standby is to follow: notes all slots, and offers none until follow() is called.
    void begin_to_follow(MepSlots& slots, std::span<const MepOutput::HandedOn> handed_on) noexcept;
    /// What begin_to_follow() noted: all slots, the MEPs built lately, and the totals, with outcomes not yet reported.
    std::span<const Assignment> noted_slots() const noexcept { return noted_; }
    Totals noted_totals() const noexcept { return noted_totals_; }
    /// From now on, this manager gets all outcomes since begin_to_follow().
    void follow(Node manager) noexcept;

  private:
    using State = MepSlots::Slot::State;

    Outbox& outbox_;
    const std::uint16_t builder_;  ///< number of this builder unit
    Node manager_;
    bool is_offering_ = true;
    fabric::Fifo<Credit> to_offer_;
    Totals reported_, noted_totals_;
    std::vector<Assignment> noted_;  ///< by slot
};

}  // namespace anello::exchange
