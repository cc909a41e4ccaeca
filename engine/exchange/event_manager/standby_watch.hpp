// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/clock.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/messages/outbox.hpp"

namespace anello::exchange {

/// What the event manager knows of its standby. It ensures that two managers never assign at the same time
/// (docs/decisions/0021-standby.md). While the standby is live, the manager assigns only what the standby will learn in
/// time, and only as long as it hears that the standby follows it. When the standby is lost, the manager continues
/// alone once at least half of the nodes that might have followed the standby have acknowledged that there is none any
/// more. One thread; memory is allocated in the constructor.
class StandbyWatch {
  public:
    enum class State : std::uint8_t { none, there, lost };

    StandbyWatch(const ExchangeConfig& config, const Outbox& outbox);

    // Hot path: no allocation, no lock, no log, no throw.
    /// The run begins, with or without the standby.
    void begin(bool is_there, const std::vector<bool>& live, Nanoseconds now_ns) noexcept;
    /// Call it at each step, before any message is posted.
    void note(std::uint64_t next_mep, Nanoseconds now_ns) noexcept;
    /// A node is lost. If it returns, it does not know which manager it followed before.
    void lose(Node node, Nanoseconds now_ns) noexcept;
    /// Whether a list of live nodes may be sent: one at a time, until the standby has acknowledged it.
    bool may_tell() const noexcept { return state_ != State::there || has_heard(config_.farm.standby, told_at_); }
    void on_told(const std::vector<bool>& live) noexcept;
    /// Whether MEPs may be assigned. `live` is the manager's own list of live nodes.
    bool may_assign(const std::vector<bool>& live, Nanoseconds now_ns) noexcept;
    /// Whether the standby has acknowledged all but a few messages. Until then, outcomes and assignments gather for one
    /// message: with one per MEP, MFPs to the standby would hardly find room in the transport.
    bool has_room() const noexcept;
    /// Only MEPs below this number may be assigned.
    std::uint64_t end_mep() const noexcept;
    /// Whether for too long too few nodes have acknowledged that the standby is lost: they may follow it.
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
    // Lists of live nodes; the standby counts its followers by the first or by the second.
    std::vector<bool> heard_, told_;
    std::vector<bool> heard_voters_, told_voters_;  ///< subset of those: not lost since
    std::uint32_t told_at_ = 0;                     ///< number of the message to the standby
    std::vector<std::uint32_t> lost_at_;            ///< by node: number of the message that the standby is lost
    bool is_lost_told_ = false;
    Nanoseconds lost_ns_ = 0, worked_ns_ = 0;
    // A message on its way to the standby: its number, the earliest time when it was posted, the MEPs assigned by then.
    std::uint32_t marked_ = 0;
    bool is_marked_ = false;
    Nanoseconds marked_ns_ = 0, followed_ns_ = 0;  ///< followed_ns_: the standby heard this manager after that time
    std::uint64_t marked_mep_ = 0, heard_mep_ = 0;
};

}  // namespace anello::exchange
