// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/clock.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/messages/outbox.hpp"

namespace anello::exchange {

/// What the event manager knows of its standby, so that there are never two who assign
/// (docs/decisions/0021-standby.md). While the standby is there, the manager assigns only what that will know in time,
/// and only as long as it hears that the standby follows it. When the standby is lost, it goes on alone once at least
/// half of the nodes that might have followed the standby have heard that there is none any more. One thread; memory is
/// taken in the constructor.
class StandbyWatch {
  public:
    enum class State : std::uint8_t { none, there, lost };

    StandbyWatch(const ExchangeConfig& config, const Outbox& outbox);

    // Hot path: no allocation, no lock, no log, no throw.
    /// The run begins, with the standby or without.
    void begin(bool is_there, const std::vector<bool>& live, Nanoseconds now_ns) noexcept;
    /// At each step, before anything is posted.
    void note(std::uint64_t next_mep, Nanoseconds now_ns) noexcept;
    /// One that comes again does not know whom it followed before.
    void lose(Node node, Nanoseconds now_ns) noexcept;
    /// Nodes are told who lives: one list at a time, until the standby has it.
    bool may_tell() const noexcept { return state_ != State::there || has_heard(config_.farm.standby, told_at_); }
    void on_told(const std::vector<bool>& live) noexcept;
    /// What happens to be is_live is what the manager's own list says.
    bool may_assign(const std::vector<bool>& live, Nanoseconds now_ns) noexcept;
    /// It has acknowledged all but a few messages. What gathers while it has not goes in one: with a message for each
    /// MEP, MFPs to it would hardly find room in the transport.
    bool has_room() const noexcept;
    /// Assigned are only those below.
    std::uint64_t end_mep() const noexcept;
    /// Too few nodes have heard that the standby is lost, for too long: they may follow it.
    bool is_cut_off(Nanoseconds now_ns) const noexcept {
        return state_ == State::lost && now_ns - lost_ns_ > 2 * config_.peer_timeout_ns;
    }
    State state() const noexcept { return state_; }

  private:
    bool has_heard(Node node, std::uint32_t sequence) const noexcept {
        return static_cast<std::int32_t>(outbox_.acknowledged(node) - sequence) >= 0;
    }
    bool is_confirmed_by(const std::vector<bool>& electorate, const std::vector<bool>& live) const noexcept;

    const ExchangeConfig config_;
    const Outbox& outbox_;
    State state_ = State::none;
    // Lists of who lives: what the standby counts by is the first, or the second.
    std::vector<bool> heard_, told_;
    std::vector<bool> heard_voters_, told_voters_;  ///< of these who has not been lost since
    std::uint32_t told_at_ = 0;                     ///< number of the message to the standby
    std::vector<std::uint32_t> lost_at_;            ///< by node: of the message that it is lost
    bool is_lost_told_ = false;
    Nanoseconds lost_ns_ = 0, worked_ns_ = 0;
    // A message on its way to the standby: its number, when it was posted at the earliest, what had been assigned.
    std::uint32_t marked_ = 0;
    bool is_marked_ = false;
    Nanoseconds marked_ns_ = 0, followed_ns_ = 0;  ///< followed_ns_: the standby heard of us after that
    std::uint64_t marked_mep_ = 0, heard_mep_ = 0;
};

}  // namespace anello::exchange
