// SPDX-License-Identifier: Apache-2.0
// Peers of the UDP transport: how they find each other, show that they are alive, and leave.
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/inet_socket.hpp"
#include "fabric/udp/udp_fabric.hpp"

namespace anello::fabric {
namespace {

constexpr Nanoseconds hello_again_ns = 10'000'000;
/// A message that is incomplete for longer than this many heartbeats is lost. A sender may pause for one heartbeat
/// within a message, when nothing that it sent is acknowledged.
constexpr int n_heartbeats_to_wait = 2;

}  // namespace

void UdpFabric::connect(Peer peer, std::span<const std::byte> address) {
    const PeerAddress decoded = decode_address(address, peer, config_);
    disconnect(peer);
    Link& link = links_[peer];
    link.address = decoded;
    link.to = make_socket_address(decoded.ipv4, decoded.port);
    link.state = PeerState::connecting;
    link.since_ns = link.next_hello_ns = clock_.monotonic_ns();
    do link.own_cookie = cookies_();
    while (link.own_cookie == 0);
    next_timer_ns_ = 0;
}

void UdpFabric::disconnect(Peer peer) noexcept {
    if (peer >= config_.n_peers) return;
    Link& link = links_[peer];
    if (link.state == PeerState::up) send_control(link, DatagramKind::bye, 0);
    while (!link.queue.empty()) disconnected_.try_push({peer, link.queue.take().token});
    forget(link, UINT64_MAX);
    link.state = PeerState::absent;
}

void UdpFabric::forget(Link& link, std::uint64_t sent_below) noexcept {
    link.incoming.reset(sent_below);
    link.own_cookie = link.their_cookie = 0;
    link.front_piece = 0;
    link.n_messages = link.sequence = link.acknowledged = link.heard_below = link.told_below = 0;
}

void UdpFabric::send_hello(Link& link) noexcept {
    UdpHello hello{};
    hello.head.kind = DatagramKind::hello;
    hello.head.peer = config_.self;
    hello.head.sequence = link.state == PeerState::up ? 1 : 0;
    hello.farm_id = config_.farm_id;
    hello.from = incarnation_;
    hello.to = link.address.incarnation;
    hello.own_cookie = link.own_cookie;
    hello.your_cookie = link.their_cookie;
    hello.window = window_;
    send_bytes(link, std::as_bytes(std::span(&hello, 1)));
}

void UdpFabric::send_control(Link& link, DatagramKind kind, std::uint64_t sequence) noexcept {
    DatagramHead head;
    head.kind = kind;
    head.peer = config_.self;
    head.cookie = link.their_cookie;
    head.sequence = sequence;
    head.message = link.n_messages;
    send_bytes(link, std::as_bytes(std::span(&head, 1)));
}

/// A datagram for which the socket has no room counts as lost on the network.
void UdpFabric::send_bytes(const Link& link, std::span<const std::byte> datagram) noexcept {
    sendto(socket_.number(), datagram.data(), datagram.size(), MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&link.to), sizeof link.to);
}

void UdpFabric::take_hello(std::span<const std::byte> datagram, const sockaddr_in& from) noexcept {
    UdpHello hello;
    if (datagram.size() != sizeof hello) return counters_.add(FabricCounter::strangers_refused);
    std::memcpy(&hello, datagram.data(), sizeof hello);
    if (hello.farm_id != config_.farm_id || hello.to != incarnation_ || hello.head.peer >= config_.n_peers)
        return counters_.add(FabricCounter::strangers_refused);
    const Peer peer = hello.head.peer;
    Link& link = links_[peer];
    // The caller did not ask for this peer yet, or the process is newer than the one it knows: the peer repeats its
    // hello.
    if ((link.state != PeerState::connecting && link.state != PeerState::up) || hello.from != link.address.incarnation)
        return;
    if (!same_address(from, link.to)) return counters_.add(FabricCounter::strangers_refused);
    if (hello.window == 0 || hello.own_cookie == 0) return counters_.add(FabricCounter::malformed);
    // the peer began a new connection
    if (link.state == PeerState::up && hello.own_cookie != link.their_cookie) return lose(peer);
    link.heard_ns = now_ns_;
    link.their_cookie = hello.own_cookie;
    link.window = hello.window;
    if (link.state == PeerState::connecting && hello.your_cookie == link.own_cookie) come_up(peer);
    if (hello.head.sequence == 0) send_hello(link);
}

void UdpFabric::come_up(Peer peer) noexcept {
    Link& link = links_[peer];
    link.state = PeerState::up;
    link.heard_ns = link.acknowledged_ns = now_ns_;
    link.next_heartbeat_ns = now_ns_ + config_.heartbeat_ns;
    counters_.add(FabricCounter::peers_up);
    ++n_things_;
    listener_.on_peer(peer, PeerState::up);
}

void UdpFabric::lose(Peer peer, std::uint64_t sent_below) noexcept {
    Link& link = links_[peer];
    report_disconnected();
    link.state = PeerState::down;
    while (!link.queue.empty()) report(peer, link.queue.take().token, Status::peer_down);
    forget(link, sent_below);
    counters_.add(FabricCounter::peers_down);
    ++n_things_;
    listener_.on_peer(peer, PeerState::down);
}

/// After a pause of this process no peer counts as silent: what it sent in the meantime may not be read yet.
void UdpFabric::forgive_own_pause() noexcept {
    const Nanoseconds before_ns = std::exchange(now_ns_, clock_.monotonic_ns()), pause_ns = now_ns_ - before_ns;
    if (before_ns == 0 || pause_ns < config_.heartbeat_ns) return;
    for (Link& link : links_) link.heard_ns += pause_ns;
}

void UdpFabric::on_timer() noexcept {
    if (now_ns_ < next_timer_ns_) return;
    next_timer_ns_ = now_ns_ + std::min(hello_again_ns, config_.heartbeat_ns / 4);
    for (std::size_t peer = 0; peer < links_.size(); ++peer) check_time_of(static_cast<Peer>(peer));
}

void UdpFabric::check_time_of(Peer peer) noexcept {
    Link& link = links_[peer];
    if (link.state == PeerState::connecting) {
        if (now_ns_ - link.since_ns >= config_.connect_timeout_ns) return lose(peer);
        if (now_ns_ < link.next_hello_ns) return;
        link.next_hello_ns = now_ns_ + hello_again_ns;
        return send_hello(link);
    }
    if (link.state != PeerState::up) return;
    if (now_ns_ - link.heard_ns >= config_.silence_ns()) {
        send_control(link, DatagramKind::bye, 0);  // for a peer that only slept
        return lose(peer);
    }
    link.incoming.give_up_older_than(n_heartbeats_to_wait * config_.heartbeat_ns, now_ns_);
    // All datagrams under way are lost, or the acknowledgement is.
    if (now_ns_ - link.acknowledged_ns >= config_.heartbeat_ns) acknowledge(link, link.sequence);
    if (now_ns_ < link.next_heartbeat_ns) return;
    link.next_heartbeat_ns = now_ns_ + config_.heartbeat_ns;
    link.told_below = link.heard_below;
    send_control(link, DatagramKind::heartbeat, link.heard_below);
}

void UdpFabric::report_disconnected() noexcept {
    while (!disconnected_.empty()) {
        const Done done = disconnected_.take();
        report(done.to, done.token, Status::peer_down);
    }
}

}  // namespace anello::fabric
