// SPDX-License-Identifier: Apache-2.0
#include "exchange/station/node_run.hpp"

#include <fmt/format.h>

#include <utility>

namespace anello::exchange {

NodeRun::NodeRun(const ExchangeConfig& config, std::uint64_t life, const NodeLinks& links, NodeUnits& units,
                 const Following& following)
    : config_(config), life_(life), links_(links), units_(units), following_(following) {}

// --- Begin

void NodeRun::greet(Nanoseconds now_ns) noexcept {
    const bool waited = end_requested_ || now_ns - begun_ns_ >= config_.start_timeout_ns / 2;
    if (!links_.are_all_up() && !waited) return;
    const Node manager = following_.manager();
    if (links_[manager].is_up) return send_hello();
    if (now_ns - begun_ns_ >= config_.start_timeout_ns)
        fail(fmt::format("the event manager, node {}, did not come", manager));
}

void NodeRun::send_hello() noexcept {
    const bool is_sent = units_.outbox().try_send(MessageType::hello, following_.manager(), life_);
    state_ = is_sent ? State::greeted : State::connecting;
}

void NodeRun::fail_if_late(Nanoseconds now_ns) noexcept {
    if (now_ns - begun_ns_ > 2 * config_.start_timeout_ns)
        fail(fmt::format("the event manager, node {}, did not begin the run", following_.manager()));
}

// --- End

void NodeRun::try_pass_end_on() noexcept {
    const Node manager = following_.manager();
    if (!links_[manager].is_up || following_.is_under_way()) return;
    end_passed_on_ = units_.outbox().try_send(MessageType::leave, manager);
}

void NodeRun::on_stop() noexcept {
    if (is_before_end()) state_ = State::stopping;
}

/// Answers the manager, then waits until the transport has sent all messages.
void NodeRun::stop_if_done() noexcept {
    const Node manager = following_.manager();
    const bool is_connected = links_[manager].is_up;
    if (!stop_answered_) stop_answered_ = !is_connected || units_.outbox().try_send(MessageType::stopped, manager);
    const bool has_gone = !is_connected || units_.outbox().is_sent(manager);
    const bool is_sent = !units_.readout() || units_.readout()->n_in_flight() == 0;
    const bool all_stopped = !units_.is_managing() || units_.manager()->state() == EventManager::State::stopped;
    if (stop_answered_ && has_gone && is_sent && all_stopped) finish(State::finished);
}

void NodeRun::leave(std::string why) noexcept {
    if (!has_begun_) return fail(std::move(why));
    failure_ = std::move(why);
    left_ns_ = links_.now_ns();
    state_ = State::leaving;
    if (units_.builder()) units_.builder()->on_manager_gone();
}

/// Other nodes may notice the loss later, and still send earlier data: waits this long for it, and at most twice as
/// long.
void NodeRun::leave_if_done(Nanoseconds now_ns) noexcept {
    const Nanoseconds waited_ns = now_ns - left_ns_, patience_ns = config_.timeout_ns + links_.silence_ns();
    if ((units_.is_empty() && waited_ns >= patience_ns) || waited_ns >= 2 * patience_ns) finish(State::failed);
}

void NodeRun::finish(State state) noexcept {
    units_.finish();
    if (units_.manager() && failure_.empty()) failure_ = units_.manager()->failure();
    state_.store(state, std::memory_order_release);  // pairs with state()
}

void NodeRun::fail(std::string why) noexcept {
    if (!is_before_end()) return;
    failure_ = std::move(why);
    finish(State::failed);
}

}  // namespace anello::exchange
