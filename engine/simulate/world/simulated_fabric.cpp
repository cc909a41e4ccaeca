// SPDX-License-Identifier: Apache-2.0
#include "simulate/world/simulated_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/peer_address.hpp"

namespace anello::simulate {

using fabric::FabricCounter;
using fabric::PeerState;
using fabric::Status;

namespace {

constexpr Nanoseconds retry_ns = 10'000'000;

std::span<const std::byte> header_of(const Packet& packet) noexcept {
    return {packet.header.data(), packet.header_bytes};
}

}  // namespace

SimulatedFabric::SimulatedFabric(const fabric::FabricConfig& config, fabric::Listener& listener, Network& network,
                                 Counters<FabricCounter> counters, std::function<void()> woken)
    : config_((check(config), config)),
      listener_(listener),
      network_(network),
      counters_(counters),
      woken_(std::move(woken)),
      incarnation_(network.new_number()),
      links_(config.n_peers) {
    network_.join(config_.self, *this);
}

SimulatedFabric::~SimulatedFabric() {
    network_.leave(config_.self, *this);
    packets_left_ = no_end;  // later packets are the system's
    for (std::size_t peer = 0; peer < links_.size(); ++peer) {
        if (has_power_) close(static_cast<Node>(peer));
        give_up(static_cast<Node>(peer));
    }
}

void SimulatedFabric::lose_power() noexcept {
    has_power_ = false;
    network_.leave(config_.self, *this);
    network_.lose_power(config_.self);
}

std::vector<std::byte> SimulatedFabric::address() const {
    return encode(fabric::make_address(config_, incarnation_));
}

Nanoseconds SimulatedFabric::next_due_ns() const noexcept {
    return done_.empty() ? next_timer_ns_ : std::min(next_timer_ns_, done_.front().due_ns);
}

PeerState SimulatedFabric::state(Node peer) const noexcept {
    return peer < config_.n_peers ? links_[peer].state : PeerState::absent;
}

std::string SimulatedFabric::describe() const {
    return fmt::format("simulated: {:g} Gb/s, {} us{}", network_.config().gbps,
                       static_cast<double>(network_.config().latency_ns) * 1e-3,
                       network_.config().reliable ? "" : ", may lose");
}

// --- Connections

void SimulatedFabric::connect(Node peer, std::span<const std::byte> address) {
    const fabric::PeerAddress decoded = fabric::decode_address(address, peer, config_);
    disconnect(peer);
    Link& link = links_[peer];
    link.incarnation = decoded.incarnation;
    link.state = PeerState::connecting;
    link.since_ns = network_.world().monotonic_ns();
    open(peer);
}

void SimulatedFabric::disconnect(Node peer) noexcept {
    if (peer >= config_.n_peers) return;
    close(peer);
    give_up(peer);
    links_[peer].state = PeerState::absent;
}

void SimulatedFabric::open(Node peer) noexcept {
    Link& link = links_[peer];
    link.number = network_.new_number();
    PacketPointer packet = make(peer, Kind::open);
    packet->incarnation = incarnation_;
    packet->meant_incarnation = link.incarnation;
    transmit(link, std::move(packet));
    links_changed_ = true;  // the peer may have asked to connect already
}

/// The peer sees this fabric go down, after it has received all that was sent before.
void SimulatedFabric::close(Node peer) noexcept {
    Link& link = links_[peer];
    if (link.number != 0) transmit(link, make(peer, Kind::close));
}

/// The caller owns again all that was on its way, and nothing reads it any more.
void SimulatedFabric::give_up(Node peer) noexcept {
    Link& link = links_[peer];
    for (auto* packets : {&link.unanswered, &link.waiting}) {
        for (const PacketPointer& packet : *packets) {
            packet->is_void = true;
            done_.push_back({peer, packet->token, Status::peer_down, packet->kind == Kind::message, false, now_ns_});
        }
        packets->clear();
    }
    link.number = link.partner = 0;
    link.unread_bytes = 0;
}

std::size_t SimulatedFabric::pair_all() noexcept {
    if (!std::exchange(links_changed_, false)) return 0;
    std::size_t n_paired = 0;
    for (std::size_t peer = 0; peer < links_.size(); ++peer) {
        Link& link = links_[peer];
        const bool is_mutual = link.asking_number != 0 && link.asking_incarnation == link.incarnation;
        if (link.state != PeerState::connecting || link.number == 0 || !is_mutual) continue;
        link.partner = std::exchange(link.asking_number, 0);
        link.state = PeerState::up;
        link.heard_ns = link.sent_ns = now_ns_;
        counters_.add(FabricCounter::peers_up);
        listener_.on_peer(static_cast<Node>(peer), PeerState::up);
        ++n_paired;
    }
    return n_paired;
}

void SimulatedFabric::on_open(const Packet& packet) noexcept {
    if (packet.meant_incarnation != incarnation_) {
        counters_.add(FabricCounter::strangers_refused);
        return refuse(packet);
    }
    links_[packet.from].asking_incarnation = packet.incarnation;
    links_[packet.from].asking_number = packet.from_link;
    links_changed_ = true;
    pair_all();
}

/// If the peer has no process yet, this fabric asks to connect again.
void SimulatedFabric::on_close(const Packet& packet) noexcept {
    Link& link = links_[packet.from];
    if (link.asking_number == packet.from_link) link.asking_number = 0;
    if (link.number == 0 || link.number != packet.to_link) return;
    if (link.state == PeerState::up) return lose(packet.from);
    link.number = 0;
}

void SimulatedFabric::lose(Node peer) noexcept {
    Link& link = links_[peer];
    close(peer);
    give_up(peer);
    link.state = PeerState::down;
    while (!done_.empty()) report_first();
    counters_.add(FabricCounter::peers_down);
    listener_.on_peer(peer, PeerState::down);
}

/// After a pause of this process no peer counts as silent: what it sent in the meantime may not be read yet.
void SimulatedFabric::forgive_own_pause() noexcept {
    const Nanoseconds before_ns = std::exchange(now_ns_, network_.world().monotonic_ns());
    const Nanoseconds pause_ns = now_ns_ - before_ns;
    if (before_ns == 0 || pause_ns < config_.heartbeat_ns) return;
    for (Link& link : links_) link.heard_ns += pause_ns;
}

void SimulatedFabric::on_timer() noexcept {
    if (now_ns_ < next_timer_ns_) return;
    next_timer_ns_ = now_ns_ + std::min(retry_ns, config_.heartbeat_ns / 4);
    bool any_connects = false;
    for (std::size_t peer = 0; peer < links_.size(); ++peer) {
        check_time_of(static_cast<Node>(peer));
        any_connects |= links_[peer].state == PeerState::connecting;
    }
    if (!any_connects) next_timer_ns_ = now_ns_ + config_.heartbeat_ns / 4;
}

void SimulatedFabric::check_time_of(Node peer) noexcept {
    Link& link = links_[peer];
    if (link.state == PeerState::connecting) {
        if (now_ns_ - link.since_ns >= config_.connect_timeout_ns) return lose(peer);
        if (link.number == 0) open(peer);
    } else if (link.state == PeerState::up) {
        if (now_ns_ - link.heard_ns >= config_.silence_ns()) return lose(peer);
        if (now_ns_ - link.sent_ns >= config_.heartbeat_ns) transmit(link, make(peer, Kind::alive));
    }
}

// --- Messages and transfers

PacketPointer SimulatedFabric::make(Node to, Kind kind) const {
    auto packet = new_packet();
    packet->kind = kind;
    packet->from = config_.self;
    packet->to = to;
    packet->from_link = links_[to].number;
    packet->to_link = links_[to].partner;
    return packet;
}

Status SimulatedFabric::send(Node to, std::span<const std::byte> header, std::span<const std::byte> payload,
                             std::uint64_t token) noexcept {
    if (header.size() > fabric::max_header_bytes || payload.size() > config_.max_message_bytes) return Status::refused;
    if (state(to) != PeerState::up) return Status::peer_down;
    PacketPointer packet = make(to, Kind::message);
    packet->header_bytes = static_cast<std::uint8_t>(header.size());
    std::copy(header.begin(), header.end(), packet->header.begin());
    packet->payload = payload.first(std::min(payload.size(), network_.config().carried_bytes));
    packet->length_bytes = payload.size();
    packet->token = token;
    if (network_.config().weight_of) packet->weight = network_.config().weight_of(header);
    const std::size_t charged_bytes = packet->charged_bytes();
    const Status status = post(std::move(packet));
    if (status != Status::ok) return status;
    ++moved_.n_messages;
    moved_.n_bytes += charged_bytes;
    counters_.add(FabricCounter::messages_sent);
    counters_.add(FabricCounter::message_bytes_sent, payload.size());
    return Status::ok;
}

/// On a connection that is a stream of bytes (copied) this is a message like any other.
Status SimulatedFabric::tell(Node to, std::span<const std::byte> header) noexcept {
    if (network_.config().done_when == DoneWhen::copied) return Fabric::tell(to, header);
    if (header.size() > fabric::max_header_bytes) return Status::refused;
    if (state(to) != PeerState::up) return Status::peer_down;
    PacketPointer packet = make(to, Kind::word);
    packet->header_bytes = static_cast<std::uint8_t>(header.size());
    std::copy(header.begin(), header.end(), packet->header.begin());
    transmit(links_[to], std::move(packet));
    counters_.add(FabricCounter::messages_sent);
    ++moved_.n_messages;
    return Status::ok;
}

Status SimulatedFabric::put(fabric::RemoteRegion to, std::size_t offset, std::span<const std::byte> from,
                            std::uint64_t signal, std::uint64_t token) noexcept {
    if (!reliable() || !fabric::lies_in(to, offset, from.size())) return Status::refused;
    if (state(to.peer) != PeerState::up) return Status::peer_down;
    PacketPointer packet = make(to.peer, Kind::put);
    packet->payload = from;
    packet->length_bytes = from.size();
    packet->region = to.index;
    packet->offset = offset;
    packet->signal = signal;
    packet->token = token;
    const Status status = post(std::move(packet));
    if (status != Status::ok) return status;
    counters_.add(FabricCounter::puts);
    counters_.add(FabricCounter::put_bytes, from.size());
    return Status::ok;
}

Status SimulatedFabric::get(fabric::RemoteRegion from, std::size_t offset, std::span<std::byte> to,
                            std::uint64_t token) noexcept {
    if (!reliable() || !fabric::lies_in(from, offset, to.size())) return Status::refused;
    if (state(from.peer) != PeerState::up) return Status::peer_down;
    PacketPointer packet = make(from.peer, Kind::get);
    packet->destination = to;
    packet->region = from.index;
    packet->offset = offset;
    packet->token = token;
    const Status status = post(std::move(packet));
    if (status != Status::ok) return status;
    counters_.add(FabricCounter::gets);
    counters_.add(FabricCounter::get_bytes, to.size());
    return Status::ok;
}

Status SimulatedFabric::post(PacketPointer packet) noexcept {
    Link& link = links_[packet->to];
    if (link.in_flight == config_.max_in_flight) {
        counters_.add(FabricCounter::busy);
        return Status::busy;
    }
    ++link.in_flight;
    packet->number = ++last_packet_;
    if (!link.waiting.empty() || must_wait(*packet))
        link.waiting.push_back(std::move(packet));
    else
        launch(link, std::move(packet));
    return Status::ok;
}

bool SimulatedFabric::must_wait(const Packet& packet) const noexcept {
    const Link& link = links_[packet.to];
    const bool is_limited = packet.kind == Kind::message && network_.config().done_when == DoneWhen::copied;
    return is_limited && link.unread_bytes > 0 &&
           link.unread_bytes + packet.charged_bytes() > network_.config().window_bytes;
}

void SimulatedFabric::launch(Link& link, PacketPointer packet) noexcept {
    const bool is_message = packet->kind == Kind::message;
    if (is_message && (network_.config().done_when == DoneWhen::copied || !reliable())) {
        packet->copy.assign(packet->payload.begin(), packet->payload.end());
        packet->payload = packet->copy;
        transmit(link, packet);
        done_.push_back(
            {packet->to, packet->token, Status::ok, true, packet->weight != 1, reliable() ? now_ns_ : packet->left_ns});
        if (reliable()) link.unread_bytes += packet->charged_bytes();
    } else {
        link.unanswered.push_back(packet);
        transmit(link, std::move(packet));
    }
}

void SimulatedFabric::die_after(std::uint32_t n_packets, std::function<void()> then) {
    packets_left_ = n_packets;
    at_death_ = std::move(then);
    if (n_packets == 0) at_death_();
}

void SimulatedFabric::transmit(Link& link, PacketPointer packet) noexcept {
    if (packets_left_ != no_end) {
        if (packets_left_ == 0) return;
        if (--packets_left_ == 0) at_death_();
    }
    link.sent_ns = network_.world().monotonic_ns();
    network_.send(std::move(packet));
}

std::size_t SimulatedFabric::progress() noexcept {
    forgive_own_pause();
    std::size_t n_things = 0;
    for (; !done_.empty() && done_.front().due_ns <= now_ns_; ++n_things) report_first();
    n_things += pair_all();
    if (std::exchange(has_room_, false))
        for (Link& link : links_) launch_waiting(link);
    n_things += take_inbox();
    on_timer();
    return n_things;
}

void SimulatedFabric::report_first() noexcept {
    const Done done = done_.front();
    done_.pop_front();
    report(done);
}

void SimulatedFabric::report(const Done& done) noexcept {
    --links_[done.to].in_flight;
    if (done.is_weighted && done.status == Status::ok) ++moved_.n_mfps_done;
    if (done.status != Status::ok)
        counters_.add(done.is_message ? FabricCounter::messages_failed : FabricCounter::transfers_failed);
    listener_.on_done(done.to, done.token, done.status);
}

/// Does not wake the process: if it sleeps, it handles first and last bytes together.
void SimulatedFabric::on_head(const PacketPointer& packet) noexcept {
    inbox_.push_back({packet, false});
}

/// New room in a window wakes the process only if it waits for room.
void SimulatedFabric::on_tail(const PacketPointer& packet) noexcept {
    if (packet->kind == Kind::read) {
        Link& link = links_[packet->from];
        if (link.number != packet->to_link) return;
        link.unread_bytes -= packet->offset;
        if (link.waiting.empty()) return;
        has_room_ = true;
        return woken_();
    }
    inbox_.push_back({packet, true});
    woken_();
}

std::size_t SimulatedFabric::take_inbox() noexcept {
    const std::size_t n_arrivals = inbox_.size();
    for (std::size_t i = 0; i < n_arrivals; ++i) {
        const Arrival arrival = std::move(inbox_.front());
        inbox_.pop_front();
        take(arrival);
    }
    return n_arrivals;
}

void SimulatedFabric::take(const Arrival& arrival) noexcept {
    Packet& packet = *arrival.packet;
    if (packet.kind == Kind::open) return on_open(packet);
    if (packet.kind == Kind::close) return on_close(packet);
    Link& link = links_[packet.from];
    if (link.state != PeerState::up || link.number != packet.to_link) {
        if (arrival.is_whole) refuse(packet);
        return;
    }
    link.heard_ns = now_ns_;
    if (packet.is_void) return;
    switch (packet.kind) {
        case Kind::message:
            return arrival.is_whole ? end_message(arrival.packet) : begin_message(packet);
        case Kind::word:
            counters_.add(FabricCounter::messages_received);
            ++moved_.n_messages;
            return listener_.on_message(packet.from, header_of(packet), {});
        case Kind::put:
            if (arrival.is_whole) on_put(packet);
            return;
        case Kind::get:
            return on_get(packet);
        case Kind::taken:
            if (arrival.is_whole) on_taken(packet);
            return;
        default:
            return;  // the peer is alive
    }
}

/// The packet is for a closed connection, or is a datagram that overtook the one that opens its connection.
void SimulatedFabric::refuse(const Packet& packet) noexcept {
    if (packet.kind == Kind::message && !reliable()) return counters_.add(FabricCounter::messages_lost);
    PacketPointer refusal = make(packet.from, Kind::close);
    refusal->from_link = packet.to_link;
    refusal->to_link = packet.from_link;
    network_.send(std::move(refusal));
}

/// Writes the first half of the bytes; the rest is written when the last byte arrives.
void SimulatedFabric::begin_message(Packet& packet) noexcept {
    packet.place = listener_.place(packet.from, header_of(packet), packet.length_bytes);
    if (packet.place.size() >= packet.length_bytes)
        std::memcpy(packet.place.data(), packet.payload.data(), packet.payload.size() / 2);
}

void SimulatedFabric::end_message(const PacketPointer& packet) noexcept {
    const std::size_t n_bytes = packet->payload.size(), n_there = n_bytes / 2;
    const bool fits = packet->place.size() >= packet->length_bytes;
    if (packet->fate == Packet::Fate::lost || packet->fate == Packet::Fate::cut) return lose_message(*packet);
    if (reliable()) answer_message(*packet);
    if (!fits) return counters_.add(FabricCounter::messages_discarded);
    if (n_bytes > 0) std::memcpy(packet->place.data() + n_there, packet->payload.data() + n_there, n_bytes - n_there);
    ++moved_.n_messages;
    moved_.n_bytes += packet->charged_bytes();
    counters_.add(FabricCounter::messages_received);
    counters_.add(FabricCounter::message_bytes_received, packet->length_bytes);
    listener_.on_message(packet->from, header_of(*packet), packet->place.first(packet->length_bytes));
}

/// If the message was copied, this system notifies the sender's system, which says nothing about this process.
void SimulatedFabric::answer_message(const Packet& packet) noexcept {
    PacketPointer answer = answer_to(packet);
    if (network_.config().done_when == DoneWhen::arrived) return transmit(links_[packet.from], std::move(answer));
    answer->kind = Kind::read;
    network_.send(std::move(answer));
}

void SimulatedFabric::lose_message(const Packet& packet) noexcept {
    counters_.add(FabricCounter::messages_lost);
    if (packet.fate == Packet::Fate::cut && packet.place.size() >= packet.length_bytes)
        listener_.on_lost(packet.from, header_of(packet));
}

void SimulatedFabric::on_put(const Packet& packet) noexcept {
    std::byte* const ours = regions_.find(packet.region, packet.offset, packet.payload.size());
    PacketPointer answer = answer_to(packet);
    if (ours == nullptr) answer->status = Status::refused;
    transmit(links_[packet.from], std::move(answer));
    if (ours == nullptr) return;
    if (!packet.payload.empty()) std::memcpy(ours, packet.payload.data(), packet.payload.size());
    counters_.add(FabricCounter::signals_received);
    listener_.on_signal(packet.from, packet.signal);
}

void SimulatedFabric::on_get(const Packet& packet) noexcept {
    const std::byte* const ours = regions_.find(packet.region, packet.offset, packet.destination.size());
    PacketPointer answer = answer_to(packet);
    if (ours == nullptr)
        answer->status = Status::refused;
    else
        answer->copy.assign(ours, ours + packet.destination.size());
    answer->payload = answer->copy;
    answer->length_bytes = answer->copy.size();
    transmit(links_[packet.from], std::move(answer));
}

PacketPointer SimulatedFabric::answer_to(const Packet& packet) const {
    PacketPointer answer = make(packet.from, Kind::taken);
    answer->number = packet.number;
    answer->offset = packet.charged_bytes();
    return answer;
}

/// Answers arrive in any order if messages and transfers are mixed.
void SimulatedFabric::on_taken(const Packet& packet) noexcept {
    Link& link = links_[packet.from];
    const auto found =
        std::ranges::find_if(link.unanswered, [&](const PacketPointer& one) { return one->number == packet.number; });
    if (found == link.unanswered.end()) return;
    const PacketPointer asked = *found;
    link.unanswered.erase(found);
    if (!packet.payload.empty()) std::memcpy(asked->destination.data(), packet.payload.data(), packet.payload.size());
    report({packet.from, asked->token, packet.status, asked->kind == Kind::message, asked->weight != 1, now_ns_});
    launch_waiting(link);
}

void SimulatedFabric::launch_waiting(Link& link) noexcept {
    while (!link.waiting.empty() && !must_wait(*link.waiting.front())) {
        PacketPointer next = std::move(link.waiting.front());
        link.waiting.erase(link.waiting.begin());
        launch(link, std::move(next));
    }
}

}  // namespace anello::simulate
