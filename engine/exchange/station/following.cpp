// SPDX-License-Identifier: Apache-2.0
#include "exchange/station/following.hpp"

#include <span>

namespace anello::exchange {

/// A manager that restarts finds the standby active.
Following::Following(const ExchangeConfig& config, NodeLinks& links, NodeUnits& units)
    : config_(config),
      links_(links),
      units_(units),
      manager_(config.comes_again && config.farm.standby != no_node && config.farm.manager == config.self
                   ? config.farm.standby
                   : config.farm.manager) {}

bool Following::may_begin() const noexcept {
    const Node standby = config_.farm.standby;
    return standby != no_node && manager() != standby && links_[standby].is_up && links_[standby].is_usable &&
           links_[standby].listed.is_standby;
}

void Following::begin(bool has_begun) noexcept {
    stage_ = Stage::reporting;
    n_reported_ = 0;
    lost_ns_ = links_.now_ns();
    NodeLinks::Link& before = links_[manager_.exchange(config_.farm.standby)];
    // otherwise the connection is to a new process
    before.is_ignored = before.must_disconnect = before.is_up && !is_manager_dead_;
    links_.note_heard(manager());
    if (units_.builder() && has_begun) units_.builder()->begin_to_follow();
}

void Following::report(bool has_begun, std::size_t n_entries) noexcept {
    if (stage_ == Stage::reporting && send_report(has_begun, n_entries)) stage_ = Stage::waiting;
}

/// Returns true when all is sent.
bool Following::send_report(bool has_begun, std::size_t n_entries) noexcept {
    Outbox& outbox = units_.outbox();
    const BuilderUnit* const builder = units_.builder();
    const ReadoutUnit* const readout = units_.readout();
    const auto slots = builder ? builder->credits().noted_slots() : std::span<const Assignment>{};
    for (bool is_last = false; !is_last;) {
        const Outbox::Message message = outbox.try_open(MessageType::follow);
        if (message == Outbox::none) return false;
        outbox.try_add(message, builder ? builder->credits().noted_totals() : Totals{});
        for (std::size_t n = 1; n < n_entries && n_reported_ < slots.size(); ++n)
            outbox.try_add(message, slots[n_reported_++]);
        is_last = n_reported_ == slots.size();
        MessageHeader& header = outbox.header(message);
        const bool is_ended = has_begun && readout && readout->end_mep() != ReadoutUnit::no_end;
        if (readout && has_begun) header.mep = is_ended ? readout->end_mep() : readout->asked_end();
        header.slot = static_cast<std::uint16_t>((is_last ? FollowFlag::last : 0) | (is_ended ? FollowFlag::ended : 0) |
                                                 (has_begun ? FollowFlag::begun : 0));
        outbox.post(message, manager());
        outbox.close(message);
    }
    return true;
}

}  // namespace anello::exchange
