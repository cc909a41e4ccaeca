// SPDX-License-Identifier: Apache-2.0
#include "exchange/event_manager/station.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace anello::exchange {

using fabric::PeerState;

const char* name_of(NodeState state) noexcept {
    constexpr std::array names{"connecting",
                               "up",
                               "down: its connection broke",
                               "down: nothing was heard of it for too long",
                               "down: the event manager says so",
                               "down: the control plane says so"};
    return names[static_cast<std::size_t>(state)];
}

Station::Station(const ExchangeConfig& config, memory::Kind memory, MfpRing* ring, MepSink* sink, const Clock& clock,
                 CounterPage& page)
    : config_((config.validate(), config)),
      memory_(memory),
      ring_(ring),
      sink_(sink),
      clock_(clock),
      page_(page),
      counters_(page.add_block<StationCounter>("station")),
      links_(config.farm.n_nodes()),
      manager_at_(config.comes_again && config.farm.standby != no_node && config.farm.manager == config.self
                      ? config.farm.standby
                      : config.farm.manager),
      seen_(std::make_unique<std::atomic<NodeState>[]>(config.farm.n_nodes())),
      life_(static_cast<std::uint64_t>(clock.wall_ns())) {}

void Station::join(fabric::Fabric& fabric) {
    fabric_ = &fabric;
    OutboxConfig out{.self = config_.self, .n_nodes = links_.size()};
    // room for the whole farm in one message
    out.max_entries = std::max(out.max_entries, static_cast<std::uint32_t>(links_.size()));
    outbox_ = std::make_unique<Outbox>(out, fabric, clock_, counters_);
    static_assert(n_places >= OutboxConfig{}.window);
    // PERF NOTE: only the manager sends lists of all nodes; other nodes send at most one entry per slot of a builder.
    // With places of one size a farm of 500 nodes took 32 MB per node for them, now 1.4 MB.
    manager_place_bytes_ = out.max_entries * entry_bytes;
    place_bytes_ = std::min<std::size_t>(out.max_entries, config_.n_credits + 1) * entry_bytes;
    const std::size_t n_managers = config_.farm.standby == no_node ? 1 : 2;
    places_.resize(n_places * (links_.size() * place_bytes_ + n_managers * manager_place_bytes_));
    if (config_.is_readout()) readout_.emplace(config_, *ring_, fabric, page_);
    if (config_.is_builder())
        builder_ = std::make_unique<BuilderUnit>(config_, memory_, !fabric.reliable(), *sink_, *outbox_, clock_, page_);
    if (config_.is_manager() || config_.is_standby())
        manager_.emplace(config_, config_.is_manager(), *outbox_, clock_, page_);
    if (config_.is_standby()) takeover_.emplace(config_);
    begin();
}

void Station::begin() noexcept {
    begun_ns_ = worked_ns_ = clock_.monotonic_ns();
    if (manager_) manager_->begin();
}

void Station::connect(Node node, std::uint64_t life, std::span<const std::byte> address) {
    Link& link = links_[node];
    if (node == config_.farm.manager && link.life != 0 && link.life != short_life(life)) is_manager_dead_ = true;
    if (manager_) manager_->note_life(node, life);
    if (link.is_up) lose(node, NodeState::broken);  // it returned before its loss was noticed
    seen_[node].store(NodeState::connecting, std::memory_order_relaxed);
    fabric_->connect(node, address);
    link.address.assign(address.begin(), address.end());
    link.retry_until_ns = clock_.monotonic_ns() + config_.start_timeout_ns;
    link.life = short_life(life);
    // the manager's list may have arrived before the connection
    link.is_usable = link.said.live && link.said.life == link.life;
}

// --- Receiving

std::span<std::byte> Station::place(Node from, std::span<const std::byte> header, std::size_t payload_bytes) noexcept {
    MessageHeader message;
    if (!read(header, message) || message.from != from) {
        counters_.add(StationCounter::malformed);
        return {};
    }
    if (message.type != MessageType::mfp) return place_control(from, message.sequence, payload_bytes);
    const std::uint16_t readout = config_.farm.readout_of[from];
    if (builder_ && readout != no_unit) return builder_->place(readout, message, payload_bytes);
    counters_.add(StationCounter::malformed);
    return {};
}

std::span<std::byte> Station::place_control(Node from, std::uint32_t sequence, std::size_t n_bytes) noexcept {
    auto& placed = links_[from].placed;
    const auto free = std::find(placed.begin(), placed.end(), 0U);
    const bool is_on_its_way =
        std::find(placed.begin(), placed.end(), sequence) != placed.end();  // 0: not a control message
    const std::size_t place_bytes = sends_lists(from) ? manager_place_bytes_ : place_bytes_;
    if (n_bytes > place_bytes || free == placed.end() || is_on_its_way) {
        counters_.add(StationCounter::malformed);
        return {};
    }
    *free = sequence;
    std::size_t first = (sends_lists(from) ? links_.size() : from) * n_places * place_bytes_;
    if (from == config_.farm.standby) first += n_places * manager_place_bytes_;
    return std::span(places_).subspan(first + static_cast<std::size_t>(free - placed.begin()) * place_bytes, n_bytes);
}

void Station::free_place(Node from, std::uint32_t sequence) noexcept {
    for (std::uint32_t& placed : links_[from].placed)
        if (placed == sequence) placed = 0;
}

void Station::on_lost(Node from, std::span<const std::byte> header) noexcept {
    MessageHeader message;
    if (!read(header, message)) return;  // place() refused it
    if (message.type != MessageType::mfp)
        free_place(from, message.sequence);
    else if (builder_)
        builder_->on_lost(config_.farm.readout_of[from], message);
}

void Station::on_message(Node from, std::span<const std::byte> header, std::span<std::byte> payload) noexcept {
    MessageHeader message;
    if (!read(header, message) || message.from != from) {  // without a payload place() has not checked it
        counters_.add(StationCounter::malformed);
        return;
    }
    links_[from].heard_ns = worked_ns_;
    const std::uint16_t readout = config_.farm.readout_of[from];
    if (message.type == MessageType::step) {
        if (!readout_ || readout == no_unit || !readout_->on_step(readout, message))
            counters_.add(StationCounter::malformed);
        return;
    }
    const bool is_data = message.type == MessageType::mfp || message.type == MessageType::absent;
    if (!is_data) {
        if (!links_[from].is_let_go && outbox_->accept(message)) on_control(from, message, payload);
        if (!payload.empty()) free_place(from, message.sequence);
        return;
    }
    if (!builder_ || readout == no_unit)
        counters_.add(StationCounter::malformed);
    else if (message.type == MessageType::mfp)
        builder_->on_mfp(readout, message, payload);
    else
        builder_->on_absent(readout, message);
}

void Station::on_control(Node from, const MessageHeader& header, std::span<const std::byte> entries) noexcept {
    const bool from_manager = from == manager_node();
    if (header.n_entries * entry_bytes != entries.size()) return counters_.add(StationCounter::malformed);
    switch (header.type) {
        case MessageType::hello:
            if (manager_) return manager_->on_hello(from, header.mep);
            break;
        case MessageType::credit:
            if (manager_) return on_credit(from, entries);
            break;
        case MessageType::leave:
            if (is_managing()) return manager_->end_run();
            break;
        case MessageType::stopped:
            if (is_managing()) return manager_->on_stopped(from);
            break;
        case MessageType::request:
            return on_request(from, entries);
        case MessageType::farm:
            if (from_manager) return on_farm(entries);
            break;
        case MessageType::assign:
            if (from_manager) return on_assign(entries);
            break;
        case MessageType::outcome:
            if (!from_manager || !is_standing_by()) break;
            return for_each_entry<Outcome>(entries, [this](const auto& entry) { manager_->follow_outcome(entry); });
        case MessageType::again:
            if (from_manager) return on_again(entries);
            break;
        case MessageType::takeover:
            if (from == config_.farm.standby) return on_takeover(from, static_cast<Call>(header.slot));
            break;
        case MessageType::follow:
            if (takeover_) return on_follow(from, header, entries);
            break;
        case MessageType::cancel:
            if (!from_manager) break;
            if (readout_)
                for_each_entry<Assignment>(entries, [this](const auto& entry) { readout_->on_cancelled(entry); });
            return;
        case MessageType::end:
            if (!from_manager) break;
            if (readout_) readout_->on_end(header.mep);
            return;
        case MessageType::stop:
            if (!from_manager) break;
            if (state() < State::leaving) state_ = State::stopping;
            return;
        default:
            return;  // alive
    }
    counters_.add(StationCounter::malformed);  // for a unit that this node does not have
}

template <typename Entry, typename Handle>
void Station::for_each_entry(std::span<const std::byte> entries, Handle handle) noexcept {
    Entry entry;
    for (; entries.size() >= entry_bytes; entries = entries.subspan(entry_bytes)) {
        read(entries.data(), entry);
        handle(entry);
    }
}

void Station::on_credit(Node from, std::span<const std::byte> entries) noexcept {
    const std::uint16_t builder = config_.farm.builder_of[from];
    if (builder == no_unit) return counters_.add(StationCounter::malformed);
    for_each_entry<Credit>(entries, [&](const Credit& credit) { manager_->on_credit(builder, credit); });
}

void Station::on_request(Node from, std::span<const std::byte> entries) noexcept {
    const std::uint16_t builder = config_.farm.builder_of[from];
    if (builder == no_unit || !readout_) return counters_.add(StationCounter::malformed);
    for_each_entry<Assignment>(entries, [&](const Assignment& entry) {
        if (entry.builder == builder) return readout_->on_assigned(entry);
        counters_.add(StationCounter::malformed);
    });
}

void Station::on_assign(std::span<const std::byte> entries) noexcept {
    if (readout_ && config_.protocol == Protocol::shift) readout_->on_round(entries);
    const std::uint16_t self = config_.farm.builder_of[config_.self];
    for_each_entry<Assignment>(entries, [&](const Assignment& entry) {
        if (readout_ && config_.protocol == Protocol::push) readout_->on_assigned(entry);
        if (builder_ && entry.builder == self) builder_->on_assigned(entry);
        if (is_standing_by()) manager_->follow_assignment(entry);
    });
}

void Station::on_again(std::span<const std::byte> entries) noexcept {
    const std::uint16_t self = config_.farm.builder_of[config_.self];
    for (; entries.size() >= entry_bytes; entries = entries.subspan(entry_bytes)) {
        if (readout_) readout_->on_again(entries.first(entry_bytes));
        Assignment entry;
        read(entries.data(), entry);
        if (builder_ && entry.builder == self) builder_->on_assigned(entry);
    }
}

void Station::on_farm(std::span<const std::byte> entries) noexcept {
    for_each_entry<NodeEntry>(entries, [this](const NodeEntry& entry) {
        if (entry.node < links_.size()) set_live(entry);
        if (is_standing_by()) manager_->follow_farm(entry);
    });
    const Link& self = links_[config_.self];
    if (!self.is_usable) return;
    if (builder_) builder_->follow(manager_node());
    following_ = Following::no;
    if (has_begun_) return;
    has_begun_ = true;
    if (readout_) readout_->begin_at(self.said.first_mep);
    if (builder_) builder_->offer_all();
}

void Station::set_live(const NodeEntry& entry) noexcept {
    Link& link = links_[entry.node];
    link.said = entry;
    if (entry.life != link.life) return;  // it concerns an earlier process, whose connection is closed
    // If the connection was made again in the meantime, the manager means the one before.
    if (!entry.live && link.is_usable && link.is_up) link.must_disconnect = true;
    link.is_usable = entry.live;
    if (entry.live) link.retry_until_ns = 0;
    tell_units(entry.node);
}

/// Notifies the units: the connection to a node has changed, or the manager's list has.
void Station::tell_units(Node node) noexcept {
    Link& link = links_[node];
    if (link.is_up) link.came_life = link.life;
    if (link.is_up && link.is_usable) link.sent_life = link.life;
    const std::uint16_t readout = config_.farm.readout_of[node], builder = config_.farm.builder_of[node];
    if (readout_ && builder != no_unit) readout_->on_builder(builder, link.is_usable && link.is_up, link.said.live);
    if (readout == no_unit) return;
    if (readout_) readout_->on_readout(readout, link.is_usable && link.is_up);
    if (!builder_) return;
    builder_->on_connection(readout, link.is_up);
    builder_->on_readout(readout, link.is_usable, link.said.first_mep);
}

void Station::on_signal(Node, std::uint64_t) noexcept {}

void Station::on_done(Node to, std::uint64_t token, fabric::Status status) noexcept {
    if ((token & Outbox::token_bit) != 0) return outbox_->on_done(token);
    const std::uint16_t builder = config_.farm.builder_of[to];
    if (readout_ && builder != no_unit) readout_->on_done(builder, token, status);
}

void Station::on_peer(Node node, PeerState state) noexcept {
    Link& link = links_[node];
    if (state == PeerState::up) {
        link.is_up = true;
        link.is_let_go = false;
        link.heard_ns = worked_ns_;
        seen_[node].store(NodeState::up, std::memory_order_relaxed);
        outbox_->reset(node);
        if (takeover_) {
            takeover_->forget(node);
            if (node == manager_node()) outbox_->be_prompt(node);
            if (manager_->has_taken_over()) outbox_->try_send(MessageType::takeover, node);
        }
        return tell_units(node);
    }
    if (state == PeerState::down) take_down(node, NodeState::broken);
}

void Station::take_down(Node node, NodeState why) noexcept {
    Link& link = links_[node];
    seen_[node].store(why, std::memory_order_relaxed);
    link.is_up = link.is_usable = link.must_disconnect = false;
    link.placed = {};
    outbox_->reset(node);
    tell_units(node);
    if (node == config_.farm.manager && why == NodeState::said_gone) is_manager_dead_ = true;
    if (takeover_) takeover_->forget(node);
    if (manager_) manager_->on_node_gone(node);
    if (!is_managing() && node == manager_node() && state() < State::leaving && !may_retry(node, worked_ns_))
        lose_manager();
}

void Station::lose(Node node, NodeState why) noexcept {
    fabric_->disconnect(node);
    take_down(node, why);
}

// --- Work

std::size_t Station::do_work() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    // after a pause of this process, other nodes need not have been silent
    if (now_ns - worked_ns_ > config_.peer_timeout_ns / 2)
        for (Link& link : links_) link.heard_ns = now_ns;
    count_wait(now_ns);
    worked_ns_ = now_ns;
    std::size_t n_done = fabric_->progress();
    if (state() == State::connecting) greet(now_ns);
    if (state() == State::greeted && !has_begun_ && now_ns - begun_ns_ > 2 * config_.start_timeout_ns)
        fail(fmt::format("the event manager, node {}, did not begin the run", manager_node()));
    // Control messages go before MFPs, which take all room of the transport; but not always, because on slow networks
    // control messages may take all of it, too.
    is_readout_first_ = !is_readout_first_ && is_readout_refused_;
    if (!is_readout_first_) n_done += outbox_->flush();
    if (following_ != Following::no) follow(now_ns);
    if (readout_) n_done += readout_->do_work(now_ns);
    if (builder_) n_done += builder_->do_work(now_ns);
    if (manager_) n_done += manager_->do_work(now_ns);
    if (end_requested_ && !end_told_) pass_end_on();
    if (now_ns >= next_watch_ns_) watch(now_ns);
    if (state() == State::stopping) stop_if_done();
    if (state() == State::leaving) leave_if_done(now_ns);
    n_done += outbox_->flush();
    note_wait(n_done == 0);
    return n_done;
}

/// Before a run begins and after its end, no waiting is counted.
void Station::count_wait(Nanoseconds now_ns) noexcept {
    if (is_waiting_ && has_begun_ && state() < State::leaving)
        counters_.add(wait_cause_, static_cast<std::uint64_t>(now_ns - worked_ns_));
}

void Station::note_wait(bool is_idle) noexcept {
    is_waiting_ = is_idle;
    if (is_idle) wait_cause_ = waiting_for();
    if (builder_) sink_full_ = builder_->counters()[BuilderCounter::waits_for_sink];
    if (readout_) is_readout_refused_ = readout_->counters()[ReadoutCounter::waits_for_transport] > transport_full_;
    if (readout_) transport_full_ = readout_->counters()[ReadoutCounter::waits_for_transport];
}

StationCounter Station::waiting_for() const noexcept {
    if (builder_ && builder_->counters()[BuilderCounter::waits_for_sink] > sink_full_)
        return StationCounter::waited_for_sink_ns;
    if (readout_ && readout_->counters()[ReadoutCounter::waits_for_transport] > transport_full_)
        return StationCounter::waited_for_transport_ns;
    if (builder_ && builder_->counters()[BuilderCounter::slots_used] > 0) return StationCounter::waited_for_parts_ns;
    if (holds_unassigned()) return StationCounter::waited_for_credit_ns;
    return StationCounter::waited_for_data_ns;
}

/// MFPs taken from the source and neither sent nor lost.
bool Station::holds_unassigned() const noexcept {
    if (!readout_) return false;
    using enum ReadoutCounter;
    const auto& counters = readout_->counters();
    return counters[mfps_taken] > counters[mfps_sent] + counters[mfps_lost] + counters[mfps_lost_to_dead_builder] +
                                      counters[mfps_too_late] + counters[mfps_before_start];
}

Nanoseconds Station::next_due_ns() const noexcept {
    return builder_ ? std::min(builder_->next_due_ns(), next_watch_ns_) : next_watch_ns_;
}

/// Says hello when all nodes are connected, or when the time limit of the others is over.
void Station::greet(Nanoseconds now_ns) noexcept {
    const bool waited = end_requested_ || now_ns - begun_ns_ >= config_.start_timeout_ns / 2;
    const bool all = std::all_of(links_.begin(), links_.end(), [](const Link& link) { return link.is_up; });
    if (!all && !waited) return;
    if (!links_[manager_node()].is_up) {
        if (now_ns - begun_ns_ >= config_.start_timeout_ns)
            fail(fmt::format("the event manager, node {}, did not come", manager_node()));
        return;
    }
    if (outbox_->try_send(MessageType::hello, manager_node(), life_)) state_ = State::greeted;
}

void Station::pass_end_on() noexcept {
    if (!links_[manager_node()].is_up || following_ != Following::no) return;
    end_told_ = outbox_->try_send(MessageType::leave, manager_node());
}

/// PERF NOTE: runs several times per peer timeout, not at each step, which would be costly with a thousand nodes.
void Station::watch(Nanoseconds now_ns) noexcept {
    next_watch_ns_ = now_ns + config_.peer_timeout_ns / 8;
    if (!fabric_->reliable()) next_watch_ns_ = std::min(next_watch_ns_, now_ns + OutboxConfig{}.resend_ns / 2);
    for (std::size_t node = 0; node < links_.size(); ++node) watch(static_cast<Node>(node), now_ns);
}

/// Before the run, a live node may be slow enough to be considered dead.
bool Station::may_retry(Node node, Nanoseconds now_ns) const noexcept {
    return !links_[node].said.live && now_ns < links_[node].retry_until_ns && state() <= State::greeted;
}

/// The manager watches all nodes, and every node watches the manager.
void Station::watch(Node node, Nanoseconds now_ns) noexcept {
    Link& link = links_[node];
    if (link.must_disconnect) return lose(node, NodeState::declared_gone);
    const PeerState transport = fabric_->state(node);
    const bool is_lost = transport == PeerState::down || transport == PeerState::absent;  // absent: after lose()
    if (!link.is_up && is_lost && may_retry(node, now_ns)) {
        seen_[node].store(NodeState::connecting, std::memory_order_relaxed);
        fabric_->connect(node, link.address);  // does not throw: this address was accepted before
        if (node == manager_node()) state_ = State::connecting;
        return;
    }
    // When its connection broke there was still time to connect again, and now there is not.
    if (is_lost && !is_managing() && node == manager_node() && state() == State::greeted && following_ == Following::no)
        return lose_manager();
    const bool is_watched = is_managing() ? node != config_.self : node == manager_node();
    if (!is_watched || !link.is_up || state() >= State::finished) return;
    if (outbox_->is_sent(node) && now_ns - outbox_->last_sent_ns(node) > config_.peer_timeout_ns / 4)
        outbox_->try_send(MessageType::alive, node);
    if (now_ns - link.heard_ns > silence_ns()) lose(node, NodeState::silent);
}

// --- End

/// Answers the manager, then waits until the transport has sent all messages.
void Station::stop_if_done() noexcept {
    const Node manager = manager_node();
    const bool is_connected = links_[manager].is_up;
    if (!stop_answered_) stop_answered_ = !is_connected || outbox_->try_send(MessageType::stopped, manager);
    const bool has_gone = !is_connected || outbox_->is_sent(manager);
    const bool is_sent = !readout_ || readout_->n_in_flight() == 0;
    const bool all_stopped = !is_managing() || manager_->state() == EventManager::State::stopped;
    if (stop_answered_ && has_gone && is_sent && all_stopped) finish(State::finished);
}

/// Leaves in order: sends parts that other nodes await, passes on packets that have begun, and then this node fails.
void Station::leave(std::string why) noexcept {
    if (!has_begun_) return fail(std::move(why));
    failure_ = std::move(why);
    left_ns_ = worked_ns_;
    state_ = State::leaving;
    if (builder_) builder_->on_manager_gone();
}

/// Other nodes may notice the loss later, and still send earlier data: waits this long for it, and at most twice as
/// long.
void Station::leave_if_done(Nanoseconds now_ns) noexcept {
    const Nanoseconds waited_ns = now_ns - left_ns_, patience_ns = config_.timeout_ns + silence_ns();
    const bool is_empty = (!builder_ || builder_->is_empty()) && (!readout_ || readout_->is_empty());
    if ((is_empty && waited_ns >= patience_ns) || waited_ns >= 2 * patience_ns) finish(State::failed);
}

/// Closes a connection that was still to be closed.
void Station::settle() noexcept {
    for (std::size_t node = 0; node < links_.size(); ++node) {
        if (!std::exchange(links_[node].must_disconnect, false)) continue;
        links_[node].is_up = false;
        tell_units(static_cast<Node>(node));
    }
    if (readout_) readout_->settle();
    if (builder_) builder_->settle();
    if (manager_) manager_->settle();
}

void Station::finish(State state) noexcept {
    if (readout_) readout_->finish();
    if (manager_ && failure_.empty()) failure_ = manager_->failure();
    state_.store(state, std::memory_order_release);  // pairs with state()
}

void Station::fail(std::string why) noexcept {
    if (state() >= State::leaving) return;
    failure_ = std::move(why);
    finish(State::failed);
}

}  // namespace anello::exchange
