// SPDX-License-Identifier: Apache-2.0
#include "fabric/udp/udp_fabric.hpp"

#include <fmt/format.h>
#include <netinet/udp.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/errors.hpp"
#include "fabric/inet_socket.hpp"

namespace anello::fabric {
namespace {

constexpr std::size_t super_packet_bytes = 65000;         ///< payload of one sendmsg() or recvmsg(), at most
constexpr int n_batches_at_most = 16;                     ///< in each direction, in one progress()
constexpr std::uint64_t largest_datagram_leap = 1 << 16;  ///< largest jump of a datagram's number that is believed

/// Upper limit of what the system takes from its buffer for a datagram: it also counts its own pages.
constexpr std::size_t cost_of(std::size_t datagram_bytes) noexcept {
    return 2 * datagram_bytes + 1024;
}

}  // namespace

UdpFabric::UdpFabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                     Counters<FabricCounter> counters)
    : config_((check(config), config)),
      listener_(listener),
      clock_(clock),
      counters_(counters),
      incarnation_(make_incarnation()),
      socket_(open_bound_socket(config, SOCK_DGRAM)),
      wake_(make_event_descriptor()),
      epoll_(make_epoll()),
      cookies_(make_incarnation()),
      disconnected_(config.n_peers * config.max_in_flight),
      out_controls_(n_batch * control_bytes),
      slots_(n_receive_slots * receive_slot_bytes),
      in_controls_(n_receive_slots * control_bytes) {
    links_.reserve(config.n_peers);
    for (Peer peer = 0; peer < config.n_peers; ++peer) links_.emplace_back(config, peer, listener, counters);
    const int one = 1, zero = 0;
    setsockopt(socket_.number(), SOL_UDP, UDP_GRO, &one, sizeof one);
    has_gso_ = setsockopt(socket_.number(), SOL_UDP, UDP_SEGMENT, &zero, sizeof zero) == 0;
    const std::size_t room = granted_bytes(socket_.number(), SO_RCVBUF) / config.n_peers;
    window_ = std::clamp<std::size_t>(room / cost_of(config.datagram_bytes), 4, 4096);
    watch(epoll_, socket_.number(), 0, EPOLLIN | EPOLLOUT | EPOLLET);
    watch(epoll_, wake_.number(), 1, EPOLLIN);
}

/// A peer that leaves sends a bye; a peer that dies falls silent.
UdpFabric::~UdpFabric() {
    for (Link& link : links_)
        if (link.state == PeerState::up) send_control(link, DatagramKind::bye, 0);
}

std::vector<std::byte> UdpFabric::address() const {
    PeerAddress address = make_address(config_, incarnation_);
    const sockaddr_in bound = local_address(socket_.number());
    address.ipv4 = bound.sin_addr.s_addr;
    address.port = bound.sin_port;
    return encode(address);
}

Region UdpFabric::register_memory(std::span<std::byte> memory) {
    throw ConfigError("region", "cannot be registered with udp, which has no put and get",
                      fmt::format("{} bytes", memory.size()), "Choose ucx or tcp");
}

std::vector<std::byte> UdpFabric::key(Region region) const {
    throw ConfigError("region", "must be registered", fmt::format("region {}", region.index), "Choose ucx or tcp");
}

RemoteRegion UdpFabric::attach(Peer peer, std::span<const std::byte>) {
    throw ConfigError("key", "cannot be of a peer over udp, which has no put and get", fmt::format("peer {}", peer),
                      "Choose ucx or tcp");
}

Status UdpFabric::send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                       std::uint64_t token) noexcept {
    if (header.size() > max_header_bytes || payload.size() > config_.max_message_bytes) return Status::refused;
    if (state(to) != PeerState::up) return Status::peer_down;
    Outgoing message;
    message.header_bytes = static_cast<std::uint8_t>(header.size());
    if (!header.empty()) std::memcpy(message.header, header.data(), header.size());
    message.payload = payload;
    message.token = token;
    if (!links_[to].queue.try_push(message)) {
        counters_.add(FabricCounter::busy);
        return Status::busy;
    }
    counters_.add(FabricCounter::messages_sent);
    counters_.add(FabricCounter::message_bytes_sent, payload.size());
    return Status::ok;
}

std::size_t UdpFabric::progress() noexcept {
    n_things_ = 0;
    forgive_own_pause();
    blocked_ = false;
    report_disconnected();
    receive();
    for (std::size_t peer = 0; peer < links_.size(); ++peer) flush(static_cast<Peer>(peer));
    on_timer();
    return n_things_;
}

std::size_t UdpFabric::piece_bytes(const Outgoing& message) const noexcept {
    return config_.datagram_bytes - sizeof(DatagramHead) - message.header_bytes;
}

bool UdpFabric::may_send(const Link& link) const noexcept {
    return link.state == PeerState::up && !link.queue.empty() && link.sequence - link.acknowledged < link.window;
}

void UdpFabric::flush(Peer peer) noexcept {
    for (int i = 0; i < n_batches_at_most && !blocked_ && may_send(links_[peer]); ++i)
        if (!flush_batch(peer)) return;
}

/// Returns false if the rest must wait.
bool UdpFabric::flush_batch(Peer peer) noexcept {
    Link& link = links_[peer];
    const std::size_t n_out = gather(link);
    const int n_sent = sendmmsg(socket_.number(), out_.data(), static_cast<unsigned>(n_out), MSG_DONTWAIT);
    if (n_sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        blocked_ = true;
    } else if (n_sent < 0 && has_gso_ && out_datagrams_[0] > 1) {
        has_gso_ = false;  // the interface that leads there has no GSO
    } else {
        // A datagram that the system refuses for another reason counts as lost on the network.
        std::size_t n_datagrams = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(n_sent, 1)); ++i)
            n_datagrams += out_datagrams_[i];
        drop_sent(peer, n_datagrams);
        return true;
    }
    return !blocked_;
}

/// Prepares as many datagrams as the window and a batch hold. The pieces of one message have equal length, except for
/// the last, so that the kernel can take several at once and split them itself (GSO).
std::size_t UdpFabric::gather(Link& link) noexcept {
    const std::size_t n_at_most = std::min<std::uint64_t>(n_batch, link.window - (link.sequence - link.acknowledged));
    const std::size_t n_together = has_gso_ ? std::max<std::size_t>(1, super_packet_bytes / config_.datagram_bytes) : 1;
    std::size_t n_out = 0, n_datagrams = 0, piece = link.front_piece;
    for (std::size_t i = 0; i < link.queue.size() && n_datagrams < n_at_most; ++i, piece = 0) {
        const Outgoing& message = link.queue[i];
        const std::size_t length = piece_bytes(message), n_all = n_pieces(message.payload.size(), length);
        while (piece < n_all && n_datagrams < n_at_most) {
            const std::size_t n_now = std::min({n_together, n_all - piece, n_at_most - n_datagrams});
            msghdr& out = out_[n_out].msg_hdr;
            out = {};
            out.msg_name = &link.to;
            out.msg_namelen = sizeof link.to;
            out.msg_iov = &vectors_[2 * n_datagrams];
            out.msg_iovlen = 2 * n_now;
            if (n_now > 1)
                set_segment(out, n_out,
                            static_cast<std::uint16_t>(sizeof(DatagramHead) + message.header_bytes + length));
            out_datagrams_[n_out++] = n_now;
            for (std::size_t end = piece + n_now; piece < end; ++piece) lay_out(link, message, i, piece, n_datagrams++);
        }
    }
    return n_out;
}

void UdpFabric::lay_out(const Link& link, const Outgoing& message, std::size_t queue_position, std::size_t piece,
                        std::size_t slot) noexcept {
    const std::size_t length = piece_bytes(message);
    const auto rest = message.payload.subspan(piece * length);
    Piece& head = pieces_[slot];
    head.head = {};
    head.head.kind = DatagramKind::data;
    head.head.peer = config_.self;
    head.head.cookie = link.their_cookie;
    head.head.sequence = link.sequence + slot;
    head.head.message = link.n_messages + queue_position;
    head.head.payload_bytes = static_cast<std::uint32_t>(message.payload.size());
    head.head.piece = static_cast<std::uint32_t>(piece);
    head.head.piece_bytes = static_cast<std::uint32_t>(length);
    head.head.header_bytes = message.header_bytes;
    std::memcpy(head.header, message.header, message.header_bytes);
    vectors_[2 * slot] = {&head, sizeof head.head + message.header_bytes};
    vectors_[2 * slot + 1] = {const_cast<std::byte*>(rest.data()), std::min(length, rest.size())};
}

void UdpFabric::set_segment(msghdr& message, std::size_t index, std::uint16_t bytes) noexcept {
    message.msg_control = out_controls_.data() + index * control_bytes;
    message.msg_controllen = CMSG_SPACE(sizeof bytes);
    cmsghdr* const note = CMSG_FIRSTHDR(&message);
    note->cmsg_level = SOL_UDP;
    note->cmsg_type = UDP_SEGMENT;
    note->cmsg_len = CMSG_LEN(sizeof bytes);
    std::memcpy(CMSG_DATA(note), &bytes, sizeof bytes);
}

void UdpFabric::drop_sent(Peer peer, std::size_t n_datagrams) noexcept {
    Link& link = links_[peer];
    counters_.add(FabricCounter::datagrams_sent, n_datagrams);
    if (link.sequence == link.acknowledged) link.acknowledged_ns = now_ns_;
    link.sequence += n_datagrams;
    while (n_datagrams > 0) {
        const Outgoing& message = link.queue.front();
        const std::size_t n_left = n_pieces(message.payload.size(), piece_bytes(message)) - link.front_piece;
        if (n_datagrams < n_left) {
            link.front_piece += static_cast<std::uint32_t>(n_datagrams);
            return;
        }
        n_datagrams -= n_left;
        link.front_piece = 0;
        ++link.n_messages;
        report(peer, link.queue.take().token, Status::ok);
    }
}

void UdpFabric::receive() noexcept {
    more_ = true;
    for (int i = 0; i < n_batches_at_most && more_; ++i) {
        for (std::size_t slot = 0; slot < n_receive_slots; ++slot) {
            slot_vectors_[slot] = {slots_.data() + slot * receive_slot_bytes, receive_slot_bytes};
            msghdr& in = in_[slot].msg_hdr;
            in = {};
            in.msg_name = &slot_senders_[slot];
            in.msg_namelen = sizeof slot_senders_[slot];
            in.msg_iov = &slot_vectors_[slot];
            in.msg_iovlen = 1;
            in.msg_control = in_controls_.data() + slot * control_bytes;
            in.msg_controllen = control_bytes;
        }
        const int n_in = recvmmsg(socket_.number(), in_.data(), n_receive_slots, MSG_DONTWAIT, nullptr);
        more_ = n_in == static_cast<int>(n_receive_slots);
        for (int slot = 0; slot < n_in; ++slot) take_batch(static_cast<std::size_t>(slot));
    }
}

void UdpFabric::take_batch(std::size_t slot) noexcept {
    msghdr& message = in_[slot].msg_hdr;
    std::span<const std::byte> bytes(slots_.data() + slot * receive_slot_bytes, in_[slot].msg_len);
    std::size_t segment_bytes = bytes.size();
    for (cmsghdr* note = CMSG_FIRSTHDR(&message); note != nullptr; note = CMSG_NXTHDR(&message, note)) {
        if (note->cmsg_level != SOL_UDP || note->cmsg_type != UDP_GRO) continue;
        int value = 0;
        std::memcpy(&value, CMSG_DATA(note), sizeof value);
        if (value > 0) segment_bytes = static_cast<std::size_t>(value);
    }
    do {
        const std::size_t n_bytes = std::min(segment_bytes, bytes.size());
        take_datagram(bytes.first(n_bytes), slot_senders_[slot]);
        bytes = bytes.subspan(n_bytes);
    } while (!bytes.empty());
}

void UdpFabric::take_datagram(std::span<const std::byte> datagram, const sockaddr_in& from) noexcept {
    DatagramHead head;
    if (!parse_head(datagram, head) || head.peer >= config_.n_peers)
        return counters_.add(FabricCounter::strangers_refused);
    if (head.kind == DatagramKind::hello) return take_hello(datagram, from);
    Link& link = links_[head.peer];
    if (!same_address(from, link.to)) return counters_.add(FabricCounter::strangers_refused);
    if (head.cookie != link.own_cookie || link.their_cookie == 0)  // from a connection that is over
        return counters_.add(FabricCounter::datagrams_duplicate);
    if (link.state == PeerState::connecting) come_up(head.peer);  // a peer with our cookie has all it needs
    link.heard_ns = now_ns_;
    bool valid = true;
    PieceView piece;
    switch (head.kind) {
        case DatagramKind::data:
            valid = parse_piece(datagram, head, config_.max_message_bytes, piece) && take_piece(link, piece);
            break;
        case DatagramKind::heartbeat:
            valid = link.incoming.expect_below(head.message, now_ns_) && acknowledge(link, head.sequence);
            break;
        case DatagramKind::ack:
            valid = acknowledge(link, head.sequence);
            break;
        case DatagramKind::bye:
            valid = link.incoming.expect_below(head.message, now_ns_);
            if (valid) lose(head.peer, head.message);
            break;
        default:
            valid = false;
    }
    if (!valid) counters_.add(FabricCounter::malformed);
}

bool UdpFabric::take_piece(Link& link, const PieceView& piece) noexcept {
    counters_.add(FabricCounter::datagrams_received);
    ++n_things_;
    const std::uint64_t after = piece.head.sequence + 1;
    if (after > link.heard_below + largest_datagram_leap || !link.incoming.take(piece, now_ns_)) return false;
    link.heard_below = std::max(link.heard_below, after);
    if (link.heard_below - link.told_below < std::max<std::uint64_t>(1, window_ / 4)) return true;
    link.told_below = link.heard_below;
    send_control(link, DatagramKind::ack, link.heard_below);
    return true;
}

/// Returns false if so many were never sent.
bool UdpFabric::acknowledge(Link& link, std::uint64_t below) noexcept {
    if (below > link.sequence) return false;
    if (below <= link.acknowledged) return true;
    link.acknowledged = below;
    link.acknowledged_ns = now_ns_;
    ++n_things_;
    return true;
}

void UdpFabric::report(Peer to, std::uint64_t token, Status status) noexcept {
    ++n_things_;
    if (status != Status::ok) counters_.add(FabricCounter::messages_failed);
    listener_.on_done(to, token, status);
}

bool UdpFabric::arm() noexcept {
    if (more_ || !disconnected_.empty()) return false;
    std::array<epoll_event, 2> events;
    const int n_events = epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < n_events; ++i)
        if (events[static_cast<std::size_t>(i)].data.u64 == 1) take_event(wake_);
    // The descriptor reports only what arrives after this; progress() must handle what arrived before.
    if (n_events > 0) return false;
    return blocked_ || std::none_of(links_.begin(), links_.end(), [this](const Link& link) { return may_send(link); });
}

PeerState UdpFabric::state(Peer peer) const noexcept {
    return peer < config_.n_peers ? links_[peer].state : PeerState::absent;
}

std::string UdpFabric::describe() const {
    return fmt::format("udp: {}, datagrams of {} bytes, {} of them under way to one peer, {}receive buffer {} kB",
                       to_text(local_address(socket_.number())), config_.datagram_bytes, window_,
                       has_gso_ ? "cut by the system (GSO), " : "", granted_bytes(socket_.number(), SO_RCVBUF) / 1024);
}

}  // namespace anello::fabric
