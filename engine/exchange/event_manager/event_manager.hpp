// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "exchange/event_manager/standby_watch.hpp"
#include "exchange/event_manager/takeover.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/exchange_counters.hpp"
#include "exchange/messages/outbox.hpp"

namespace anello::exchange {

/// Assigns each multi-event packet (MEP) to a builder that has a free slot, and knows the outcome of each MEP and which
/// nodes are live. The run begins when all nodes are connected. It continues without nodes that die, takes them in
/// again when they return, and ends when all assigned MEPs are accounted for. A standby's event manager follows the
/// messages of the active one, and may take over. One thread; memory is allocated in the constructor.
class EventManager {
  public:
    enum class State : std::uint8_t { gathering, running, ending, stopping, stopped };

    /// `in_charge`: active from the beginning. Throws ConfigError. All arguments must outlive the object.
    EventManager(const ExchangeConfig& config, bool in_charge, Outbox& outbox, const Clock& clock, CounterPage& page);
    /// The time limit for nodes to connect starts now; without this call it starts at construction.
    void begin() noexcept { begun_ns_ = clock_.monotonic_ns(); }

    // Hot path: no allocation, no lock, no log, no throw.
    void on_hello(Node node, std::uint64_t life) noexcept;
    void on_credit(std::uint16_t builder, const Credit& credit) noexcept;
    void on_stopped(Node node) noexcept;
    /// The connection broke, or the node was silent for too long.
    void on_node_gone(Node node) noexcept;
    /// Notes which process of this node is running, or will be.
    void note_life(Node node, std::uint64_t life) noexcept;
    /// For a standby: applies an entry of the manager's list of nodes.
    void follow_farm(const NodeEntry& entry) noexcept;
    void follow_assignment(const Assignment& assignment) noexcept;
    void follow_outcome(const Outcome& outcome) noexcept;
    /// The manager is lost. Live are the nodes that followed, and that sent all they know.
    void take_over(const Takeover& takeover, Node from) noexcept;
    void end_run() noexcept;  ///< Ends the assignment of MEPs.
    std::size_t do_work(Nanoseconds now_ns) noexcept;
    /// Call it after the last do_work(): counts assigned MEPs without an outcome. A second call does nothing.
    void settle() noexcept;

    State state() const noexcept { return state_; }
    bool is_in_charge() const noexcept { return is_in_charge_; }
    bool has_taken_over() const noexcept { return counters_[ManagerCounter::takeovers] > 0; }
    bool is_live(Node node) const noexcept { return live_[node]; }
    /// For a standby: whether the node still runs the process that the manager's list named.
    bool is_as_told(Node node) const noexcept { return nodes_[node].life == nodes_[node].known_life; }
    std::uint64_t next_mep() const noexcept { return next_mep_; }
    const Counters<ManagerCounter>& counters() const noexcept { return counters_; }
    /// What one process of a builder reported, for comparison with its own account at the end.
    struct BuilderAccount {
        Node node = 0;
        std::uint64_t life = 0;  ///< from its hello
        std::uint64_t n_complete = 0, n_incomplete = 0;
    };
    BuilderAccount account_of(std::uint16_t builder) const noexcept;
    /// MEPs assigned to this builder whose outcome it has not reported.
    std::vector<std::uint64_t> open_meps(std::uint16_t builder) const;
    /// A builder that died, or was considered dead.
    struct LostBuilder {
        BuilderAccount account;
        std::size_t first_mep = 0, n_meps = 0;  ///< part of lost_meps(): assigned to it, and never reported
    };
    static constexpr std::size_t max_lost_builders = 256;  ///< further ones are counted, but not noted here
    const std::vector<LostBuilder>& lost_builders() const noexcept { return lost_builders_; }
    const std::vector<std::uint64_t>& lost_meps() const noexcept { return lost_meps_; }
    /// Why the run ended early; empty if it did not.
    const char* failure() const noexcept { return failure_; }

  private:
    struct NodeRecord {
        bool has_come = false, has_stopped = false, is_late = false;
        std::uint64_t life = 0;
        // For a standby: lives of connections, until the manager names one; life of a hello that waits until it is in
        // charge.
        std::uint64_t known_life = 0, life_before = 0, greeted_life = 0;
        std::uint64_t first_mep = 0;
    };
    struct Slot {
        bool is_known = false, is_assigned = false;  ///< known: offered since the builder connected
        std::uint32_t use = 0;
        std::uint64_t mep = 0;
    };
    struct Builder {
        std::vector<Slot> slots;
        std::vector<std::uint16_t> free;  ///< the slot offered last is used first: it is still in the cache
        std::uint64_t n_complete = 0, n_incomplete = 0;  ///< since the builder connected
    };

    void start_if_ready(Nanoseconds now_ns) noexcept;
    void start() noexcept;
    void set_live(Node node, bool is_live) noexcept;
    void lose_builder(std::uint16_t builder) noexcept;
    void note_lost(std::uint16_t builder) noexcept;
    static std::uint64_t n_assigned(const Builder& builder) noexcept;

    bool lose_node(Node node) noexcept;
    void adopt(std::uint16_t builder, const Takeover& takeover) noexcept;
    void note_known(std::uint64_t mep) noexcept;
    bool is_known(std::uint64_t mep) const noexcept { return known_[mep % known_.size()] == mep + 1; }
    void begin_to_lose_with(Node node) noexcept;
    void lose(std::uint64_t mep) noexcept;
    bool tell_again() noexcept;
    bool tell_outcomes() noexcept;
    void count_outcome(Builder& builder, bool is_complete) noexcept;
    void check_live() noexcept;
    void fail(const char* why) noexcept;

    bool tell_all(MessageType type, std::uint64_t mep) noexcept;
    void post_to_live(Outbox::Message message, bool managers_too) noexcept;
    bool tell_changes() noexcept;
    bool tell_farm() noexcept;
    bool tell_cancelled() noexcept;
    bool tell_stop_to_late() noexcept;
    void end_if_done() noexcept;

    std::size_t assign(Nanoseconds now_ns) noexcept;
    std::size_t push() noexcept;
    std::size_t pull() noexcept;
    std::size_t shift() noexcept;
    /// No more MEPs may be assigned now.
    bool is_at_limit() const noexcept { return is_over() || next_mep_ >= limit_mep_; }
    bool is_over() const noexcept { return config_.n_meps > 0 && next_mep_ >= config_.n_meps; }
    bool is_live_builder(std::uint16_t builder) const noexcept { return is_live(config_.farm.builders[builder]); }
    bool has_credit(std::uint16_t builder) const noexcept {
        return is_live_builder(builder) && !builders_[builder].free.empty();
    }
    bool try_next_builder(std::uint16_t& builder) noexcept;
    Assignment assign_to(std::uint16_t builder) noexcept;

    const ExchangeConfig config_;
    Outbox& outbox_;
    const Clock& clock_;
    Counters<ManagerCounter> counters_;
    State state_ = State::gathering;
    Nanoseconds begun_ns_;
    std::vector<NodeRecord> nodes_;
    std::vector<bool> live_;  ///< by node
    std::vector<Builder> builders_;
    std::vector<Outbox::Message> drafts_;  ///< by builder: its assignments of this step (pull)
    fabric::Fifo<Assignment> cancelled_;   ///< to be sent to readout units
    fabric::Fifo<Outcome> outcomes_;       ///< to be sent to the standby
    std::vector<LostBuilder> lost_builders_;
    std::vector<std::uint64_t> lost_meps_;
    StandbyWatch standby_;
    std::vector<Assignment> again_;  ///< after a takeover, in order: all MEPs assigned to live builders
    std::size_t n_again_told_ = 0;
    std::uint64_t again_mep_ = 0, again_end_ = 0;  ///< MEPs to be announced after a takeover, assigned or not
    std::vector<std::uint64_t> known_;  ///< for a standby, by MEP modulo: that MEP + 1 if its builder is known
    std::uint64_t next_mep_ = 0, n_outstanding_ = 0, limit_mep_ = 0;
    std::uint16_t next_builder_ = 0;
    bool is_in_charge_;
    bool farm_changed_ = false, end_told_ = false, is_late_ = false, is_settled_ = false;
    const char* failure_ = "";
};

}  // namespace anello::exchange
