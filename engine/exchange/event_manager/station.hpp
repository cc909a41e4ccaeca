// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/builder/builder_unit.hpp"
#include "exchange/event_manager/event_manager.hpp"
#include "exchange/readout_unit.hpp"

namespace anello::exchange {

/// State of another node, as this station sees it.
enum class NodeState : std::uint8_t { connecting, up, broken, silent, declared_gone, said_gone };
const char* name_of(NodeState state) noexcept;  ///< "up", "connecting", or "down: " and the reason

/// The units of one node on one fabric. It carries messages to the unit that they are for, watches the other
/// nodes, and knows when the run is over. It has no thread of its own; one thread calls all members but the
/// constructor.
class Station final : public fabric::Listener {
  public:
    /// `ring` and `sink` may be null if this node has no readout unit or no builder. All arguments must outlive the
    /// object. Throws ConfigError.
    Station(const ExchangeConfig& config, memory::Kind memory, MfpRing* ring, MepSink* sink, const Clock& clock,
            CounterPage& page);
    /// Call it once, before anything else. The fabric was made with this listener.
    void join(fabric::Fabric& fabric);
    /// The time limits for other nodes to connect start now; without this call they start at join().
    void begin() noexcept;
    /// Begins to connect, also to a restarted node, which has another life. Throws ConfigError if the address is
    /// invalid.
    void connect(Node node, std::uint64_t life, std::span<const std::byte> address);

    // Hot path: no allocation, no lock, no log, no throw.
    std::size_t do_work() noexcept;
    /// When there is work to do even if no message arrives.
    Nanoseconds next_due_ns() const noexcept;
    /// Orderly end of the whole run: asks the manager to end it.
    void request_end() noexcept { end_requested_ = true; }
    /// The control plane reports that a node is gone.
    void lose(Node node, NodeState why) noexcept;
    void count_sleep() noexcept { counters_.add(StationCounter::sleeps); }

    // Any thread.
    bool finished() const noexcept { return state() == State::finished; }
    bool failed() const noexcept { return state() == State::failed; }
    /// Why the node ended early; empty if it did not. Valid once finished or failed.
    const std::string& failure() const noexcept { return failure_; }
    NodeState seen(Node node) const noexcept { return seen_[node].load(std::memory_order_relaxed); }
    /// The node whose assignments this station accepts.
    Node manager_node() const noexcept { return manager_at_.load(std::memory_order_relaxed); }
    /// Distinguishes this process from one that replaces it.
    std::uint64_t life() const noexcept { return life_; }
    const Farm& farm() const noexcept { return config_.farm; }
    /// short_life() of the processes to which ReadoutUnit::n_numbered() and BuilderUnit::arrivals() refer; 0: none yet.
    std::uint32_t sent_life(Node node) const noexcept { return links_[node].sent_life; }
    std::uint32_t came_life(Node node) const noexcept { return links_[node].came_life; }
    /// Call it after the last do_work().
    void settle() noexcept;

    const ReadoutUnit* readout() const noexcept { return readout_ ? &*readout_ : nullptr; }
    const BuilderUnit* builder() const noexcept { return builder_ ? &*builder_ : nullptr; }
    /// The event manager of this node: one that is active, was active, or may take over. Null on other nodes.
    const EventManager* manager() const noexcept { return manager_ ? &*manager_ : nullptr; }

    // --- fabric::Listener
    std::span<std::byte> place(Node from, std::span<const std::byte> header,
                               std::size_t payload_bytes) noexcept override;
    void on_message(Node from, std::span<const std::byte> header, std::span<std::byte> payload) noexcept override;
    void on_lost(Node from, std::span<const std::byte> header) noexcept override;
    void on_signal(Node from, std::uint64_t signal) noexcept override;
    void on_done(Node to, std::uint64_t token, fabric::Status status) noexcept override;
    void on_peer(Node node, fabric::PeerState state) noexcept override;

  private:
    /// leaving: the manager is gone; what has begun is completed, as far as possible within its time-out.
    enum class State : std::uint8_t { connecting, greeted, leaving, stopping, finished, failed };
    static constexpr std::size_t n_places = 8;  ///< for control messages of one node
    /// How far this node is with following the standby instead of a lost manager.
    enum class Following : std::uint8_t { no, telling, waiting };
    /// The standby's message: it is active; it asks which nodes have lost the manager; it calls all, as most have.
    enum class Call : std::uint16_t { in_charge, asked, called };

    struct Link {
        bool is_up = false;
        std::uint32_t life = 0;  ///< of the process at the other end
        std::uint32_t sent_life = 0,
                      came_life = 0;  ///< processes to which the numbers of MFPs sent and received refer
        NodeEntry said{};             ///< the manager's entry: of this life, or of an earlier or later one
        /// The manager listed this life since the connection was made: assignments concern the process that is there
        /// now.
        bool is_usable = false;
        bool must_disconnect = false;
        bool is_let_go = false;  ///< a former manager: its messages are neither read nor acknowledged
        std::vector<std::byte> address;
        Nanoseconds retry_until_ns = 0;  ///< until then a connection that breaks before its use is made again
        Nanoseconds heard_ns = 0;
        std::array<std::uint32_t, n_places> placed{};  ///< sequence number of the message in each place; 0: free
    };

    State state() const noexcept { return state_.load(std::memory_order_acquire); }  // pairs with finish()
    std::span<std::byte> place_control(Node from, std::uint32_t sequence, std::size_t n_bytes) noexcept;
    void free_place(Node from, std::uint32_t sequence) noexcept;
    void on_control(Node from, const MessageHeader& header, std::span<const std::byte> entries) noexcept;
    template <typename Entry, typename Handle>
    void for_each_entry(std::span<const std::byte> entries, Handle handle) noexcept;
    void on_farm(std::span<const std::byte> entries) noexcept;
    void set_live(const NodeEntry& entry) noexcept;
    void on_assign(std::span<const std::byte> entries) noexcept;
    void on_again(std::span<const std::byte> entries) noexcept;
    void on_takeover(Node from, Call call) noexcept;
    void on_follow(Node from, const MessageHeader& header, std::span<const std::byte> entries) noexcept;
    void on_request(Node from, std::span<const std::byte> entries) noexcept;
    void on_credit(Node from, std::span<const std::byte> entries) noexcept;
    void tell_units(Node node) noexcept;
    void take_down(Node node, NodeState why) noexcept;
    bool is_managing() const noexcept { return manager_ && manager_->is_in_charge(); }
    bool is_standing_by() const noexcept { return manager_ && !manager_->is_in_charge(); }
    bool sends_lists(Node node) const noexcept { return node == config_.farm.manager || node == config_.farm.standby; }

    void lose_manager() noexcept;
    bool may_follow() const noexcept;
    void begin_to_follow() noexcept;
    void follow(Nanoseconds now_ns) noexcept;
    bool tell_follow() noexcept;
    void take_over_if_due(Nanoseconds now_ns) noexcept;
    bool is_supported() const noexcept;
    bool have_all_followed() const noexcept;
    Nanoseconds followers_wait_ns() const noexcept;
    bool call_followers(Call call) noexcept;

    void count_wait(Nanoseconds now_ns) noexcept;
    void note_wait(bool is_idle) noexcept;
    StationCounter waiting_for() const noexcept;
    bool holds_unassigned() const noexcept;
    void greet(Nanoseconds now_ns) noexcept;
    void pass_end_on() noexcept;
    void watch(Nanoseconds now_ns) noexcept;
    bool may_retry(Node node, Nanoseconds now_ns) const noexcept;
    void watch(Node node, Nanoseconds now_ns) noexcept;
    /// A node that pauses for less than the time-out is not dead: before the pause it may have been silent for as long
    /// as any live node.
    Nanoseconds silence_ns() const noexcept { return config_.peer_timeout_ns + config_.peer_timeout_ns / 2; }
    void stop_if_done() noexcept;
    void leave(std::string why) noexcept;
    void leave_if_done(Nanoseconds now_ns) noexcept;
    void finish(State state) noexcept;
    void fail(std::string why) noexcept;

    const ExchangeConfig config_;
    const memory::Kind memory_;
    MfpRing* ring_;
    MepSink* sink_;
    const Clock& clock_;
    CounterPage& page_;
    Counters<StationCounter> counters_;
    fabric::Fabric* fabric_ = nullptr;
    std::unique_ptr<Outbox> outbox_;
    std::optional<ReadoutUnit> readout_;
    std::unique_ptr<BuilderUnit> builder_;
    std::optional<EventManager> manager_;
    std::vector<Link> links_;
    std::atomic<Node> manager_at_;  ///< the node whose assignments are accepted
    Following following_ = Following::no;
    std::size_t n_told_ = 0;  ///< slots reported to the standby
    Nanoseconds manager_lost_ns_ = 0;
    std::optional<Takeover> takeover_;  ///< at the standby
    bool is_manager_dead_ = false;      ///< its process has ended
    bool has_called_ = false;           ///< at the standby: all nodes were called
    Nanoseconds called_ns_ = 0, asked_ns_ = 0;
    /// [node][n_places] places for control messages that are arriving, then those of nodes that may manage
    std::vector<std::byte> places_;
    std::size_t place_bytes_ = 0, manager_place_bytes_ = 0;
    std::unique_ptr<std::atomic<NodeState>[]> seen_;  ///< by node
    std::atomic<State> state_{State::connecting};
    bool has_begun_ = false, end_requested_ = false, end_told_ = false, stop_answered_ = false;
    Nanoseconds begun_ns_ = 0, worked_ns_ = 0, next_watch_ns_ = 0, left_ns_ = 0;
    const std::uint64_t life_;
    bool is_waiting_ = false;  ///< the last step did nothing, for this reason:
    StationCounter wait_cause_ = StationCounter::waited_for_data_ns;
    bool is_readout_refused_ = false, is_readout_first_ = false;  ///< by the transport, which gets MFPs first
    std::uint64_t sink_full_ = 0, transport_full_ = 0;            ///< counts before the last step
    std::string failure_;
};

}  // namespace anello::exchange
