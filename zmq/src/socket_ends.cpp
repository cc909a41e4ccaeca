// SPDX-License-Identifier: Apache-2.0
#include "socket_ends.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "ring_handover.hpp"
#include "stream/ring/bell_line.hpp"

namespace anello::zeromq {
namespace {

/// A stopped sender gets a bell when 1/4 of the ring is free: a bell for every few bytes would cost more than it gains.
constexpr std::size_t free_share_for_bell = 4;
/// A peer that only rings must not occupy the thread, so one call reads the socket at most this often.
constexpr int max_reads_at_once = 16;
constexpr char offer_byte = 'L', accept_byte = 'A';  // a bell is any other byte

/// True for the first caller that finds the flag set; only this caller rings: one bell for one sleep.
bool take_wish(std::atomic<std::uint32_t>& waits) noexcept {
    return waits.exchange(0, std::memory_order_seq_cst) == 1;
}

}  // namespace

void BellSocket::ring() const noexcept {
    stream::ring_bell(socket_);
}

bool BellSocket::try_offer(int lent_memory) const noexcept {
    return send_with(socket_, {&offer_byte, 1}, {&lent_memory, 1}) == 1;
}

bool BellSocket::try_accept() const noexcept {
    return send(socket_, &accept_byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

void BellSocket::hang_up() const noexcept {
    shutdown(socket_, SHUT_RDWR);
}

bool BellSocket::take_rings() noexcept {
    std::array<char, 256> rings;
    for (int i = 0; i < max_reads_at_once && !peer_gone_; ++i) {
        Descriptors came;
        const ssize_t n_taken = receive_with(socket_, rings, came);
        if (n_taken == 0 || (n_taken < 0 && errno != EAGAIN && errno != EINTR)) peer_gone_ = true;
        // One read ends at a message with descriptors, so the descriptors belong to the last byte read.
        if (n_taken > 0 && rings[static_cast<std::size_t>(n_taken) - 1] == offer_byte) offered_ = std::move(came[0]);
        if (n_taken > 0)
            peer_accepted_ |= std::memchr(rings.data(), accept_byte, static_cast<std::size_t>(n_taken)) != nullptr;
        if (n_taken < static_cast<ssize_t>(rings.size())) break;
    }
    return !peer_gone_;
}

// The memory orders are those of stream::SharedSendEnd and its counterpart: each side stores its own word, then loads
// the other's, all in one total order, so that of a side that publishes and one that goes to sleep, one sees the other.
bool SocketSendEnd::publish(std::uint64_t head) noexcept {
    header_.head.store(head, std::memory_order_seq_cst);
    if (header_.receiver_waits.load(std::memory_order_seq_cst) == 0 || !take_wish(header_.receiver_waits)) return false;
    bell_.ring();
    return true;
}

std::uint64_t SocketSendEnd::tail() noexcept {
    return header_.tail.load(std::memory_order_seq_cst);
}

bool SocketSendEnd::peer_closed() noexcept {
    return header_.receiver_closed.load(std::memory_order_acquire) != 0;  // pairs with the release in close()
}

void SocketSendEnd::end() noexcept {
    header_.sender_ended.store(1, std::memory_order_release);  // pairs with the acquire in peer_ended()
    bell_.ring();
}

void SocketSendEnd::ask_for_bell(std::size_t n_bytes) noexcept {
    const std::size_t wanted = std::max(n_bytes, size_bytes() / free_share_for_bell);
    header_.space_wanted.store(wanted, std::memory_order_relaxed);  // ordered by the next line
    header_.sender_waits.store(1, std::memory_order_seq_cst);
}

void SocketSendEnd::take_wish_back() noexcept {
    header_.sender_waits.store(0, std::memory_order_relaxed);  // an unneeded bell does no harm
}

std::uint64_t SocketReceiveEnd::head() noexcept {
    return header_.head.load(std::memory_order_seq_cst);
}

bool SocketReceiveEnd::peer_ended() noexcept {
    return header_.sender_ended.load(std::memory_order_acquire) != 0;  // pairs with the release in end()
}

bool SocketReceiveEnd::release(std::uint64_t tail, std::size_t n_free) noexcept {
    header_.tail.store(tail, std::memory_order_seq_cst);
    if (header_.sender_waits.load(std::memory_order_seq_cst) == 0) return false;
    if (n_free < header_.space_wanted.load(std::memory_order_relaxed)) return false;  // ordered by the line before
    if (!take_wish(header_.sender_waits)) return false;
    bell_.ring();
    return true;
}

void SocketReceiveEnd::close() noexcept {
    header_.receiver_closed.store(1, std::memory_order_release);  // pairs with the acquire in peer_closed()
    bell_.ring();
}

void SocketReceiveEnd::ask_for_bell() noexcept {
    header_.receiver_waits.store(1, std::memory_order_seq_cst);
}

void SocketReceiveEnd::take_wish_back() noexcept {
    header_.receiver_waits.store(0, std::memory_order_relaxed);  // an unneeded bell does no harm
}

}  // namespace anello::zeromq
