// SPDX-License-Identifier: Apache-2.0
#include "exchange/station/station.hpp"

#include <fmt/format.h>

namespace anello::exchange {

Station::Station(const ExchangeConfig& config, memory::Kind memory, MfpRing* ring, MepSink* sink, const Clock& clock,
                 CounterPage& page)
    : config_((config.validate(), config)),
      clock_(clock),
      counters_(page.add_block<StationCounter>("station")),
      links_(config_),
      places_(config_, NodeUnits::outbox_config_of(config_).max_entries),
      units_(config_, memory, ring, sink, clock, page, counters_),
      waits_(counters_),
      following_(config_, links_, units_),
      followers_(config_.is_standby() ? std::make_unique<Followers>(config_, links_, units_, following_) : nullptr),
      run_(config_, static_cast<std::uint64_t>(clock.wall_ns()), links_, units_, following_),
      connections_(config_, clock, links_, places_, units_, following_, followers_.get(), run_),
      reception_(config_, counters_, links_, places_, units_, following_, followers_.get(), run_, connections_) {}

void Station::join(fabric::Fabric& fabric) {
    fabric_ = &fabric;
    units_.join(fabric);
    connections_.join(fabric);
    begin();
}

void Station::begin() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    links_.begin(now_ns);
    run_.begin(now_ns);
    if (units_.manager()) units_.manager()->begin();
}

std::size_t Station::do_work() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    // Before a run begins and after its end, no waiting is counted.
    if (run_.has_begun() && run_.is_before_end()) waits_.count(now_ns - links_.now_ns());
    links_.begin_step(now_ns);
    std::size_t n_done = fabric_->progress();
    run_.start(now_ns);
    if (!waits_.take_readout_turn()) n_done += units_.outbox().flush();
    if (following_.is_under_way()) follow(now_ns);
    n_done += units_.do_work(now_ns);
    run_.pass_end_on();
    connections_.watch_if_due(now_ns);
    run_.end_if_done(now_ns);
    n_done += units_.outbox().flush();
    waits_.note(n_done == 0, units_);
    return n_done;
}

Nanoseconds Station::next_due_ns() const noexcept {
    const Nanoseconds watch_ns = connections_.next_watch_ns();
    return builder() ? std::min(builder()->next_due_ns(), watch_ns) : watch_ns;
}

/// The manager is lost, and the standby is not active yet.
void Station::follow(Nanoseconds now_ns) noexcept {
    if (run_.state() != NodeRun::State::greeted) return;
    following_.report(run_.has_begun(), places_.n_entries());  // as many as fit into the standby's place
    if (units_.is_standing_by() && followers_->is_due(now_ns, !fabric_->reliable())) take_over(now_ns);
    if (!following_.is_too_long(now_ns)) return;
    following_.end();
    const Node lost = config_.farm.manager;
    run_.leave(fmt::format("the event manager, node {}, is {}, and too few nodes follow the standby, node {}", lost,
                           name_of(links_.seen(lost)), following_.manager()));
}

/// From now on the standby watches all nodes: those that do not follow it are lost.
void Station::take_over(Nanoseconds now_ns) noexcept {
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const auto node = static_cast<Node>(i);
        links_[node].heard_ns = now_ns;
        if (followers_->is_missing(node)) connections_.lose(node, NodeState::silent);
    }
    units_.manager()->take_over(followers_->takeover(), config_.farm.manager);
}

}  // namespace anello::exchange
