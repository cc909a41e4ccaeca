// SPDX-License-Identifier: Apache-2.0
#include "exchange/event_manager/standby_watch.hpp"

#include <utility>

namespace anello::exchange {

StandbyWatch::StandbyWatch(const ExchangeConfig& config, const Outbox& outbox)
    : config_(config),
      outbox_(outbox),
      heard_(config.farm.n_nodes()),
      told_(config.farm.n_nodes()),
      heard_voters_(config.farm.n_nodes()),
      told_voters_(config.farm.n_nodes()),
      lost_at_(config.farm.n_nodes()) {}

void StandbyWatch::begin(bool is_there, const std::vector<bool>& live, Nanoseconds now_ns) noexcept {
    state_ = is_there ? State::there : State::none;
    if (!is_there) return;
    heard_ = told_ = heard_voters_ = told_voters_ = live;
    told_at_ = marked_ = outbox_.posted(config_.farm.standby);
    followed_ns_ = worked_ns_ = now_ns;
}

void StandbyWatch::note(std::uint64_t next_mep, Nanoseconds now_ns) noexcept {
    if (state_ != State::there) return;
    const Node standby = config_.farm.standby;
    if (is_marked_ && has_heard(standby, marked_)) {
        is_marked_ = false;
        followed_ns_ = marked_ns_;
        heard_mep_ = marked_mep_;
    }
    if (has_heard(standby, told_at_)) {
        heard_ = told_;
        heard_voters_ = told_voters_;
    }
    if (!is_marked_ && outbox_.posted(standby) != marked_) {  // posted during the previous step, or since
        is_marked_ = true;
        marked_ = outbox_.posted(standby);
        marked_ns_ = worked_ns_;
        marked_mep_ = next_mep;
    }
    worked_ns_ = now_ns;
}

/// This concerns also a standby whose process has ended: it may have taken over before.
void StandbyWatch::lose(Node node, Nanoseconds now_ns) noexcept {
    heard_voters_[node] = told_voters_[node] = false;
    if (state_ != State::there || node != config_.farm.standby) return;
    state_ = State::lost;
    lost_ns_ = now_ns;
}

void StandbyWatch::on_told(const std::vector<bool>& live) noexcept {
    if (state_ == State::there) {
        told_ = told_voters_ = live;
        told_at_ = outbox_.posted(config_.farm.standby);
    }
    if (state_ != State::lost || std::exchange(is_lost_told_, true)) return;
    for (std::size_t node = 0; node < lost_at_.size(); ++node) lost_at_[node] = outbox_.posted(static_cast<Node>(node));
}

bool StandbyWatch::is_confirmed_by(const std::vector<bool>& electorate, const std::vector<bool>& live) const noexcept {
    std::size_t n = 0, n_confirmed = 0;
    for (std::size_t i = 0; i < electorate.size(); ++i) {
        if (!electorate[i]) continue;
        ++n;
        const auto node = static_cast<Node>(i);
        const bool has_confirmed = live[i] && heard_voters_[i] && has_heard(node, lost_at_[i]);
        if (node == config_.self || has_confirmed) ++n_confirmed;
    }
    return 2 * n_confirmed >= n;
}

bool StandbyWatch::may_assign(const std::vector<bool>& live, Nanoseconds now_ns) noexcept {
    // This limit is shorter than the time that the standby waits after it last heard this manager.
    if (state_ == State::there) return now_ns - followed_ns_ <= config_.peer_timeout_ns / 4 * 3;
    if (state_ == State::none) return true;
    if (!is_lost_told_ || !is_confirmed_by(heard_, live) || !is_confirmed_by(told_, live)) return false;
    state_ = State::none;
    return true;
}

bool StandbyWatch::has_room() const noexcept {
    constexpr std::uint32_t enough = 4;
    const Node standby = config_.farm.standby;
    return state_ != State::there || outbox_.posted(standby) - outbox_.acknowledged(standby) < enough;
}

std::uint64_t StandbyWatch::end_mep() const noexcept {
    if (state_ != State::there) return std::numeric_limits<std::uint64_t>::max();
    return heard_mep_ + config_.standby_reserve();
}

}  // namespace anello::exchange
