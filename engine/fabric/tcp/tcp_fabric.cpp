// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/tcp_fabric.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/errors.hpp"
#include "fabric/inet_socket.hpp"

namespace anello::fabric {
namespace {

constexpr std::size_t n_spare_inbounds = 16;  ///< for connections that have not sent their hello yet
constexpr int n_events_at_most = 64;
constexpr std::size_t n_pieces_at_most = 64;
constexpr int n_writes_at_most = 16, n_reads_at_most = 16;  ///< for one peer in one progress()

}  // namespace

TcpFabric::TcpFabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                     Counters<FabricCounter> counters)
    : config_((check(config), config)),
      listener_(listener),
      clock_(clock),
      counters_(counters),
      incarnation_(make_incarnation()),
      listening_(open_bound_socket(config, SOCK_STREAM)),
      wake_(make_event_descriptor()),
      epoll_(make_epoll()),
      disconnected_(config.n_peers * config.max_in_flight) {
    links_.reserve(config.n_peers);
    for (std::size_t i = 0; i < config.n_peers; ++i) links_.emplace_back(config.max_in_flight);
    FrameSink& sink = *this;
    inbounds_.reserve(config.n_peers + n_spare_inbounds);
    for (std::size_t i = 0; i < config.n_peers + n_spare_inbounds; ++i)
        inbounds_.emplace_back(sink, config.max_message_bytes);
    watch(listening_.number(), Source::listener, 0, EPOLLIN);
    watch(wake_.number(), Source::wake, 0, EPOLLIN);
}

std::vector<std::byte> TcpFabric::address() const {
    PeerAddress address = make_address(config_, incarnation_);
    const sockaddr_in bound = local_address(listening_.number());
    address.ipv4 = bound.sin_addr.s_addr;
    address.port = bound.sin_port;
    return encode(address);
}

void TcpFabric::deregister(Region region) noexcept {
    regions_.remove(region);
    for (std::size_t peer = 0; peer < links_.size(); ++peer) {
        Link& link = links_[peer];
        if (link.state != PeerState::up || link.broken) continue;
        const FrameReader& reader = inbounds_[static_cast<std::size_t>(link.in)].reader;
        bool touches =
            reader.is_inside() && reader.head().kind == FrameKind::put && reader.head().region == region.index;
        for (std::size_t i = 0; i < link.queue.size(); ++i) {
            const Outgoing& frame = link.queue[i];
            touches |= frame.head.kind == FrameKind::done && !frame.payload.empty() && frame.token == region.index;
        }
        if (!touches) continue;
        link.broken = any_broken_ = true;
        close_sockets(link);
    }
}

Status TcpFabric::send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                       std::uint64_t token) noexcept {
    if (header.size() > max_header_bytes || payload.size() > config_.max_message_bytes) return Status::refused;
    Outgoing frame;
    frame.head = {.kind = FrameKind::message,
                  .header_bytes = static_cast<std::uint8_t>(header.size()),
                  .payload_bytes = payload.size()};
    if (!header.empty()) std::memcpy(frame.header, header.data(), header.size());
    frame.payload = payload;
    frame.token = token;
    const Status status = post(to, frame);
    if (status != Status::ok) return status;
    counters_.add(FabricCounter::messages_sent);
    counters_.add(FabricCounter::message_bytes_sent, payload.size());
    return Status::ok;
}

Status TcpFabric::put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
                      std::uint64_t token) noexcept {
    if (!lies_in(to, offset, from.size())) return Status::refused;
    Outgoing frame;
    frame.head = {
        .kind = FrameKind::put, .region = to.index, .payload_bytes = from.size(), .offset = offset, .tag = signal};
    frame.payload = from;
    const Status status = post(to.peer, frame);
    if (status != Status::ok) return status;
    links_[to.peer].transfers.try_push({token, {}});
    counters_.add(FabricCounter::puts);
    counters_.add(FabricCounter::put_bytes, from.size());
    return Status::ok;
}

Status TcpFabric::get(RemoteRegion from, std::size_t offset, std::span<std::byte> to, std::uint64_t token) noexcept {
    if (!lies_in(from, offset, to.size())) return Status::refused;
    Outgoing frame;
    frame.head = {.kind = FrameKind::get, .region = from.index, .offset = offset, .tag = to.size()};
    const Status status = post(from.peer, frame);
    if (status != Status::ok) return status;
    links_[from.peer].transfers.try_push({token, to});
    counters_.add(FabricCounter::gets);
    counters_.add(FabricCounter::get_bytes, to.size());
    return Status::ok;
}

/// Queues the frame; progress() writes it, so that several frames share a system call.
Status TcpFabric::post(Peer to, const Outgoing& frame) noexcept {
    if (state(to) != PeerState::up || links_[to].broken) return Status::peer_down;
    Link& link = links_[to];
    if (link.in_flight == config_.max_in_flight || !link.queue.try_push(frame)) {
        counters_.add(FabricCounter::busy);
        return Status::busy;
    }
    ++link.in_flight;
    return Status::ok;
}

std::size_t TcpFabric::progress() noexcept {
    n_things_ = 0;
    forgive_own_pause();
    report_disconnected();
    for (std::size_t peer = 0; peer < links_.size(); ++peer) flush(static_cast<Peer>(peer));
    std::array<epoll_event, n_events_at_most> events;
    const int n_events = epoll_wait(epoll_.number(), events.data(), n_events_at_most, 0);
    for (int i = 0; i < n_events; ++i) {
        const std::uint64_t what = events[static_cast<std::size_t>(i)].data.u64;
        const auto index = static_cast<std::uint32_t>(what);
        switch (static_cast<Source>(what >> 32)) {
            case Source::listener:
                accept_some();
                break;
            case Source::wake:
                n_things_ += take_event(wake_) ? 1 : 0;
                break;
            case Source::out:
                on_out(static_cast<Peer>(index));
                break;
            case Source::in:
                on_in(index);
                break;
        }
    }
    lose_broken();
    on_timer();
    return n_things_;
}

void TcpFabric::flush(Peer peer) noexcept {
    Link& link = links_[peer];
    for (int i = 0; i < n_writes_at_most && !link.queue.empty() && !link.blocked && !link.broken; ++i) {
        std::array<iovec, n_pieces_at_most> pieces;
        msghdr message{};
        message.msg_iov = pieces.data();
        message.msg_iovlen = gather(link, pieces);
        const ssize_t n_bytes = sendmsg(link.out.number(), &message, MSG_NOSIGNAL);
        if (n_bytes >= 0) {
            link.sent_ns = now_ns_;
            drop_sent(peer, static_cast<std::size_t>(n_bytes));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            link.blocked = true;
        } else if (errno != EINTR) {
            break_link(peer);
        }
    }
}

std::size_t TcpFabric::gather(Link& link, std::span<iovec> pieces) noexcept {
    std::size_t n_pieces = 0, skip = link.front_sent;
    for (std::size_t i = 0; i < link.queue.size() && n_pieces + 2 <= pieces.size(); ++i) {
        Outgoing& frame = link.queue[i];
        const std::size_t skip_head = std::min(skip, frame.head_bytes());
        if (skip_head < frame.head_bytes())
            pieces[n_pieces++] = {reinterpret_cast<std::byte*>(&frame.head) + skip_head,
                                  frame.head_bytes() - skip_head};
        const std::span<const std::byte> rest = frame.payload.subspan(skip - skip_head);
        if (!rest.empty()) pieces[n_pieces++] = {const_cast<std::byte*>(rest.data()), rest.size()};
        skip = 0;
    }
    return n_pieces;
}

void TcpFabric::drop_sent(Peer peer, std::size_t n_bytes) noexcept {
    Link& link = links_[peer];
    link.front_sent += n_bytes;
    while (!link.queue.empty() && link.front_sent >= link.queue.front().n_bytes()) {
        link.front_sent -= link.queue.front().n_bytes();
        const Outgoing frame = link.queue.take();
        if (frame.head.kind == FrameKind::message)
            report(peer, frame.token, Status::ok, FabricCounter::messages_failed);
    }
}

void TcpFabric::on_in(std::size_t index) noexcept {
    Inbound& inbound = inbounds_[index];
    if (inbound.state == InState::opened) {
        read_hello(index);
    } else if (inbound.state == InState::greeted) {
        close_in(inbound);  // while nothing is read, epoll reports only that its end was reached
    } else if (inbound.state == InState::active && links_[inbound.peer].state == PeerState::up) {
        if (!links_[inbound.peer].broken) read_frames(inbound, n_reads_at_most);
    } else if (inbound.state == InState::active) {
        links_[inbound.peer].in = -1;
        close_in(inbound);
    }
}

void TcpFabric::read_frames(Inbound& inbound, int n_reads) noexcept {
    const Peer peer = inbound.peer;
    for (int i = 0; i < n_reads; ++i) {
        std::array<iovec, 2> room = inbound.reader.room();
        const ssize_t n_bytes = readv(inbound.socket.number(), room.data(), static_cast<int>(room.size()));
        if (n_bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
        if (n_bytes <= 0) return break_link(peer);
        links_[peer].heard_ns = now_ns_;
        if (!inbound.reader.take(static_cast<std::size_t>(n_bytes))) {
            counters_.add(FabricCounter::malformed);
            close_sockets(links_[peer]);
            links_[peer].broken = any_broken_ = true;
            return;
        }
        if (static_cast<std::size_t>(n_bytes) < room[0].iov_len + room[1].iov_len) return;
    }
}

FrameSink::Destination TcpFabric::begin_frame(Peer from, const FrameHead& head,
                                              std::span<const std::byte> header) noexcept {
    if (head.kind == FrameKind::message && head.payload_bytes > 0) {
        const std::span<std::byte> place = listener_.place(from, header, head.payload_bytes);
        return {true, place.size() < head.payload_bytes ? nullptr : place.data()};
    }
    if (head.kind == FrameKind::put) return {true, regions_.find(head.region, head.offset, head.payload_bytes)};
    if (head.kind != FrameKind::done) return {};
    Link& link = links_[from];
    if (link.transfers.empty()) return {false, nullptr};
    const std::span<std::byte> destination = link.transfers.front().destination;
    const bool fits = head.payload_bytes == (head.status == Status::ok ? destination.size() : 0);
    return {fits, destination.data()};
}

bool TcpFabric::end_frame(Peer from, const FrameHead& head, std::span<const std::byte> header,
                          std::byte* payload) noexcept {
    if (head.kind == FrameKind::heartbeat) return true;
    ++n_things_;
    if (head.kind == FrameKind::message) {
        end_message(from, head, header, payload);
        return true;
    }
    if (head.kind == FrameKind::done) return end_transfer(from, head.status);
    if (head.kind == FrameKind::put) {
        if (!answer(from, payload == nullptr ? Status::refused : Status::ok, {}, head.region)) return false;
        if (payload == nullptr) return true;
        counters_.add(FabricCounter::signals_received);
        listener_.on_signal(from, head.tag);
        return true;
    }
    const std::byte* const wanted = regions_.find(head.region, head.offset, head.tag);
    if (wanted == nullptr) return answer(from, Status::refused, {}, head.region);
    return answer(from, Status::ok, {wanted, head.tag}, head.region);
}

void TcpFabric::end_message(Peer from, const FrameHead& head, std::span<const std::byte> header,
                            std::byte* payload) noexcept {
    if (payload == nullptr && head.payload_bytes > 0) return counters_.add(FabricCounter::messages_discarded);
    counters_.add(FabricCounter::messages_received);
    counters_.add(FabricCounter::message_bytes_received, head.payload_bytes);
    listener_.on_message(from, header, {payload, head.payload_bytes});
}

/// Keeps the region in `token`, for deregister(). A peer that has more answers pending than its limit breaks the
/// protocol.
bool TcpFabric::answer(Peer to, Status status, std::span<const std::byte> payload, std::uint32_t region) noexcept {
    Outgoing frame;
    frame.head = {.kind = FrameKind::done, .status = status, .payload_bytes = payload.size()};
    frame.payload = payload;
    frame.token = region;
    return links_[to].queue.try_push(frame);
}

bool TcpFabric::end_transfer(Peer from, Status status) noexcept {
    report(from, links_[from].transfers.take().token, status, FabricCounter::transfers_failed);
    return true;
}

void TcpFabric::report(Peer to, std::uint64_t token, Status status, FabricCounter failure) noexcept {
    --links_[to].in_flight;
    ++n_things_;
    if (status != Status::ok) counters_.add(failure);
    listener_.on_done(to, token, status);
}

void TcpFabric::report_disconnected() noexcept {
    while (!disconnected_.empty()) {
        const Done done = disconnected_.take();
        report(done.to, done.token, Status::peer_down, done.failure);
    }
}

bool TcpFabric::arm() noexcept {
    if (!disconnected_.empty() || any_broken_) return false;
    return std::none_of(links_.begin(), links_.end(), [](const Link& link) {
        return link.state == PeerState::up && !link.queue.empty() && !link.blocked;
    });
}

PeerState TcpFabric::state(Peer peer) const noexcept {
    return peer < config_.n_peers ? links_[peer].state : PeerState::absent;
}

std::string TcpFabric::describe() const {
    return fmt::format("tcp: {}, socket buffers {} kB out, {} kB in", to_text(local_address(listening_.number())),
                       granted_bytes(listening_.number(), SO_SNDBUF) / 1024,
                       granted_bytes(listening_.number(), SO_RCVBUF) / 1024);
}

}  // namespace anello::fabric
