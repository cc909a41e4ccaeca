// SPDX-License-Identifier: Apache-2.0
// Connections of the TCP transport: how they are opened, recognised and closed.
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fabric/inet_socket.hpp"
#include "fabric/tcp/tcp_fabric.hpp"

namespace anello::fabric {
namespace {

constexpr Nanoseconds retry_ns = 10'000'000;
constexpr int n_accepts_at_most = 32;
constexpr int n_last_reads = 1024;  ///< for the bytes that a peer sent before it closed its side

bool would_block(int error_number) noexcept {
    return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

}  // namespace

void TcpFabric::watch(int descriptor, Source source, std::size_t index, std::uint32_t events) noexcept {
    anello::watch(epoll_, descriptor, std::uint64_t{static_cast<std::uint32_t>(source)} << 32 | index, events);
}

void TcpFabric::connect(Peer peer, std::span<const std::byte> address) {
    const PeerAddress decoded = decode_address(address, peer, config_);
    disconnect(peer);
    Link& link = links_[peer];
    link.address = decoded;
    link.state = PeerState::connecting;
    link.since_ns = now_ns_ = clock_.monotonic_ns();
    adopt(peer);
    open_out(peer);
}

void TcpFabric::disconnect(Peer peer) noexcept {
    if (peer >= config_.n_peers) return;
    Link& link = links_[peer];
    close_sockets(link);
    for (; !link.queue.empty(); link.queue.pop()) {
        const Outgoing& frame = link.queue.front();
        if (frame.head.kind == FrameKind::message)
            disconnected_.try_push({peer, frame.token, FabricCounter::messages_failed});
    }
    for (; !link.transfers.empty(); link.transfers.pop())
        disconnected_.try_push({peer, link.transfers.front().token, FabricCounter::transfers_failed});
    link.state = PeerState::absent;
    link.broken = false;
}

void TcpFabric::open_out(Peer peer) noexcept {
    Link& link = links_[peer];
    link.next_try_ns = now_ns_ + retry_ns;
    link.out = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!link.out.open()) return;  // tried again until the connect timeout
    const int one = 1;
    setsockopt(link.out.number(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    size_buffers(link.out.number(), config_);
    const sockaddr_in to = make_socket_address(link.address.ipv4, link.address.port);
    if (::connect(link.out.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS) {
        link.out = Descriptor();
        return;
    }
    link.out_state = OutState::connecting;
    // Edge-triggered: a socket is nearly always writable, so epoll needs to report it only after it was not.
    watch(link.out.number(), Source::out, peer, EPOLLIN | EPOLLOUT | EPOLLET);
}

void TcpFabric::close_out(Link& link) noexcept {
    link.out = Descriptor();
    link.out_state = OutState::closed;
}

/// An event of epoll may concern a socket that is closed by now, so this asks the socket itself.
void TcpFabric::on_out(Peer peer) noexcept {
    Link& link = links_[peer];
    link.blocked = false;
    if (link.out_state == OutState::connecting) greet(peer);
    if (link.out_state == OutState::greeted || link.out_state == OutState::welcomed) read_welcome(peer);
}

void TcpFabric::greet(Peer peer) noexcept {
    Link& link = links_[peer];
    sockaddr_in other{};
    socklen_t length = sizeof other;
    if (getpeername(link.out.number(), reinterpret_cast<sockaddr*>(&other), &length) != 0) {
        int error_number = 0;
        length = sizeof error_number;
        getsockopt(link.out.number(), SOL_SOCKET, SO_ERROR, &error_number, &length);
        if (error_number != 0) close_out(link);
        return;
    }
    const TcpHello hello{tcp_magic, tcp_version, config_.self, config_.farm_id, incarnation_, link.address.incarnation};
    // The first bytes of a connection always fit into the socket buffer.
    if (::send(link.out.number(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) return close_out(link);
    link.out_state = OutState::greeted;
}

void TcpFabric::read_welcome(Peer peer) noexcept {
    Link& link = links_[peer];
    TcpWelcome answer{};
    const ssize_t n_bytes = recv(link.out.number(), &answer, sizeof answer, 0);
    if (n_bytes < 0 && would_block(errno)) return;
    // the peer closed, or sent what the protocol forbids
    if (link.out_state == OutState::welcomed) return break_link(peer);
    const bool valid = n_bytes == sizeof answer && answer.magic == tcp_magic && answer.version == tcp_version &&
                       answer.peer == peer && answer.from == link.address.incarnation;
    if (!valid) return close_out(link);
    link.out_state = OutState::welcomed;
    come_up(peer);
}

void TcpFabric::accept_some() noexcept {
    for (int i = 0; i < n_accepts_at_most; ++i) {
        Descriptor socket(accept4(listening_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket.open()) return;
        Inbound* const inbound = free_inbound();
        if (inbound == nullptr) {
            counters_.add(FabricCounter::strangers_refused);
            continue;
        }
        inbound->state = InState::opened;
        inbound->socket = std::move(socket);
        inbound->since_ns = now_ns_;
        inbound->hello_bytes = 0;
        watch(inbound->socket.number(), Source::in, static_cast<std::size_t>(inbound - inbounds_.data()), EPOLLIN);
    }
}

/// If no place is free, closes the connection whose hello has been awaited longest.
TcpFabric::Inbound* TcpFabric::free_inbound() noexcept {
    Inbound* oldest = nullptr;
    for (Inbound& inbound : inbounds_) {
        if (inbound.state == InState::free) return &inbound;
        if (inbound.state == InState::opened && (oldest == nullptr || inbound.since_ns < oldest->since_ns))
            oldest = &inbound;
    }
    if (oldest == nullptr) return nullptr;
    counters_.add(FabricCounter::strangers_refused);
    close_in(*oldest);
    return oldest;
}

void TcpFabric::read_hello(std::size_t index) noexcept {
    Inbound& inbound = inbounds_[index];
    auto* const to = reinterpret_cast<std::byte*>(&inbound.hello) + inbound.hello_bytes;
    const ssize_t n_bytes = recv(inbound.socket.number(), to, sizeof inbound.hello - inbound.hello_bytes, 0);
    if (n_bytes < 0 && would_block(errno)) return;
    if (n_bytes <= 0) return close_in(inbound);
    inbound.hello_bytes += static_cast<std::size_t>(n_bytes);
    if (inbound.hello_bytes == sizeof inbound.hello) take_hello(index);
}

void TcpFabric::take_hello(std::size_t index) noexcept {
    Inbound& inbound = inbounds_[index];
    const TcpHello& hello = inbound.hello;
    if (hello.magic != tcp_magic || hello.version != tcp_version || hello.farm_id != config_.farm_id ||
        hello.to != incarnation_ || hello.peer >= config_.n_peers) {
        counters_.add(FabricCounter::strangers_refused);
        return close_in(inbound);
    }
    for (Inbound& other : inbounds_)  // an earlier connection that the peer itself gave up
        if (other.state == InState::greeted && other.peer == hello.peer && other.incarnation == hello.from)
            close_in(other);
    inbound.state = InState::greeted;
    inbound.peer = hello.peer;
    inbound.incarnation = hello.from;
    inbound.since_ns = now_ns_;
    watch(inbound.socket.number(), Source::in, index, 0);  // nothing is read before the peer is up
    if (links_[hello.peer].state == PeerState::connecting) adopt(hello.peer);
}

/// Uses the connection that the peer opened, if it did, for the peer to which we connect.
void TcpFabric::adopt(Peer peer) noexcept {
    Link& link = links_[peer];
    for (std::size_t i = 0; i < inbounds_.size() && link.in < 0; ++i)
        if (inbounds_[i].state == InState::greeted && inbounds_[i].peer == peer &&
            inbounds_[i].incarnation == link.address.incarnation)
            welcome(i);
}

void TcpFabric::welcome(std::size_t index) noexcept {
    Inbound& inbound = inbounds_[index];
    const TcpWelcome answer{tcp_magic, tcp_version, config_.self, incarnation_};
    if (::send(inbound.socket.number(), &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer)
        return close_in(inbound);
    inbound.state = InState::active;
    inbound.reader.reset(inbound.peer);
    links_[inbound.peer].in = static_cast<int>(index);
    come_up(inbound.peer);
}

void TcpFabric::close_in(Inbound& inbound) noexcept {
    inbound.state = InState::free;
    inbound.socket = Descriptor();
}

/// A peer is up when both directions are open.
void TcpFabric::come_up(Peer peer) noexcept {
    Link& link = links_[peer];
    if (link.out_state != OutState::welcomed || link.in < 0) return;
    link.state = PeerState::up;
    link.heard_ns = link.sent_ns = now_ns_;
    const auto in = static_cast<std::size_t>(link.in);
    watch(inbounds_[in].socket.number(), Source::in, in, EPOLLIN);
    counters_.add(FabricCounter::peers_up);
    ++n_things_;
    listener_.on_peer(peer, PeerState::up);
}

void TcpFabric::close_sockets(Link& link) noexcept {
    close_out(link);
    if (link.in >= 0) close_in(inbounds_[static_cast<std::size_t>(link.in)]);
    link.in = -1;
    link.blocked = false;
    link.front_sent = 0;
}

/// Closes a connection that failed. From here on nothing is written to the caller's memory. The listener is notified
/// later, when no frame is being received.
void TcpFabric::break_link(Peer peer) noexcept {
    Link& link = links_[peer];
    if (link.broken || link.state != PeerState::up) return;
    if (link.in >= 0) {
        // Bytes received before the end count. Marked broken first, because reading them may find the other end closed,
        // too.
        link.broken = true;
        read_frames(inbounds_[static_cast<std::size_t>(link.in)], n_last_reads);
    }
    link.broken = any_broken_ = true;
    close_sockets(link);
}

void TcpFabric::lose_broken() noexcept {
    if (!std::exchange(any_broken_, false)) return;
    for (std::size_t peer = 0; peer < links_.size(); ++peer)
        if (links_[peer].broken) lose(static_cast<Peer>(peer));
}

void TcpFabric::lose(Peer peer) noexcept {
    Link& link = links_[peer];
    report_disconnected();
    close_sockets(link);
    link.state = PeerState::down;
    link.broken = false;
    while (!link.queue.empty()) {
        const Outgoing frame = link.queue.take();
        if (frame.head.kind == FrameKind::message)
            report(peer, frame.token, Status::peer_down, FabricCounter::messages_failed);
    }
    while (!link.transfers.empty())
        report(peer, link.transfers.take().token, Status::peer_down, FabricCounter::transfers_failed);
    counters_.add(FabricCounter::peers_down);
    ++n_things_;
    listener_.on_peer(peer, PeerState::down);
}

/// After a pause of this process no peer counts as silent: what it sent in the meantime may not be read yet.
void TcpFabric::forgive_own_pause() noexcept {
    const Nanoseconds before_ns = std::exchange(now_ns_, clock_.monotonic_ns()), pause_ns = now_ns_ - before_ns;
    if (before_ns == 0 || pause_ns < config_.heartbeat_ns) return;
    for (Link& link : links_) link.heard_ns += pause_ns;
}

void TcpFabric::on_timer() noexcept {
    if (now_ns_ < next_timer_ns_) return;
    next_timer_ns_ = now_ns_ + std::min(retry_ns, config_.heartbeat_ns / 4);
    for (std::size_t peer = 0; peer < links_.size(); ++peer) check_time_of(static_cast<Peer>(peer));
    for (Inbound& inbound : inbounds_) {
        const bool waits = inbound.state == InState::opened || inbound.state == InState::greeted;
        if (!waits || now_ns_ - inbound.since_ns < config_.connect_timeout_ns) continue;
        if (inbound.state == InState::opened) counters_.add(FabricCounter::strangers_refused);
        close_in(inbound);
    }
}

void TcpFabric::check_time_of(Peer peer) noexcept {
    Link& link = links_[peer];
    if (link.state == PeerState::connecting) {
        if (now_ns_ - link.since_ns >= config_.connect_timeout_ns) return lose(peer);
        if (link.out_state == OutState::closed && now_ns_ >= link.next_try_ns) open_out(peer);
    } else if (link.state == PeerState::up && !link.broken) {
        if (now_ns_ - link.heard_ns >= config_.silence_ns()) return lose(peer);
        if (link.queue.empty() && now_ns_ - link.sent_ns >= config_.heartbeat_ns) link.queue.try_push({});
    }
}

}  // namespace anello::fabric
