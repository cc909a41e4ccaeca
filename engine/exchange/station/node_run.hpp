// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/clock.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/station/following.hpp"
#include "exchange/station/node_links.hpp"
#include "exchange/station/node_units.hpp"

namespace anello::exchange {

/// How far a node is with its run: from its hello to the manager until it has finished or failed.
class NodeRun {
  public:
    /// leaving: the manager is gone; the MEPs that have begun are completed, as far as possible within their time-out.
    enum class State : std::uint8_t { connecting, greeted, leaving, stopping, finished, failed };

    /// `life` distinguishes this process from one that replaces it. All arguments must outlive the object.
    NodeRun(const ExchangeConfig& config, std::uint64_t life, const NodeLinks& links, NodeUnits& units,
            const Following& following);

    // Any thread.
    State state() const noexcept { return state_.load(std::memory_order_acquire); }  // pairs with finish()
    std::uint64_t life() const noexcept { return life_; }
    /// Why the node ended early; empty if it did not. Valid once finished or failed.
    const std::string& failure() const noexcept { return failure_; }

    // Hot path: no allocation, no lock, no log, no throw.
    /// The time limits for other nodes to connect start now.
    void begin(Nanoseconds now_ns) noexcept { begun_ns_ = now_ns; }
    /// The manager has listed this node: it takes part in the run.
    bool has_begun() const noexcept { return has_begun_; }
    void note_begun() noexcept { has_begun_ = true; }
    bool is_before_end() const noexcept { return state() < State::leaving; }
    /// Says hello when all nodes are connected, or when the time limit of the others is over; fails if the manager does
    /// not answer.
    void start(Nanoseconds now_ns) noexcept {
        if (state() == State::connecting) greet(now_ns);
        if (state() == State::greeted && !has_begun_) fail_if_late(now_ns);
    }
    void send_hello() noexcept;
    /// The connection to the manager is made again: a hello must be sent over it.
    void start_again() noexcept { state_ = State::connecting; }

    void request_end() noexcept { end_requested_ = true; }
    /// Passes a request to end the run on to the manager, once.
    void pass_end_on() noexcept {
        if (end_requested_ && !end_passed_on_) try_pass_end_on();
    }
    /// There is another manager, which does not know of the request.
    void pass_end_on_again() noexcept { end_passed_on_ = false; }
    void on_stop() noexcept;
    /// The manager is lost. Leaves in order: sends parts that other nodes await, passes on packets that have begun, and
    /// then this node fails.
    void leave(std::string why) noexcept;
    /// Stops or leaves, if that is under way and all is done.
    void end_if_done(Nanoseconds now_ns) noexcept {
        if (state() == State::stopping) stop_if_done();
        if (state() == State::leaving) leave_if_done(now_ns);
    }

  private:
    void greet(Nanoseconds now_ns) noexcept;
    void fail_if_late(Nanoseconds now_ns) noexcept;
    void try_pass_end_on() noexcept;
    void stop_if_done() noexcept;
    void leave_if_done(Nanoseconds now_ns) noexcept;
    void finish(State state) noexcept;
    void fail(std::string why) noexcept;

    const ExchangeConfig& config_;
    const std::uint64_t life_;
    const NodeLinks& links_;
    NodeUnits& units_;
    const Following& following_;
    std::atomic<State> state_{State::connecting};
    bool has_begun_ = false, end_requested_ = false, end_passed_on_ = false, stop_answered_ = false;
    Nanoseconds begun_ns_ = 0, left_ns_ = 0;
    std::string failure_;
};

}  // namespace anello::exchange
