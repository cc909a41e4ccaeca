// SPDX-License-Identifier: Apache-2.0
#include "stream/ring/shared_ends.hpp"

#include <utility>

namespace anello::stream {
namespace {

/// Only the first side that finds the request takes it and rings: one bell for one sleep.
bool take_wish(std::atomic<std::uint32_t>& waits) noexcept {
    return waits.exchange(0, std::memory_order_seq_cst) == 1;
}

}  // namespace

// --- Sending
SharedSendEnd::SharedSendEnd(SharedRing ring, SharedLine line)
    : ring_(std::move(ring)), header_(ring_->header()), bell_(std::move(line), Way::send) {}

// Sleeping and waking: each side stores its own word, then reads the other's, all in one total order (seq_cst). So if a
// sender publishes while a receiver goes to sleep, at least one of them sees the other's word. seq_cst also includes
// the release that makes the bytes before head and tail visible (pairs with the acquire in head() and tail()).
bool SharedSendEnd::publish(std::uint64_t head) noexcept {
    header_.head.store(head, std::memory_order_seq_cst);
    if (header_.receiver_waits.load(std::memory_order_seq_cst) == 0 || !take_wish(header_.receiver_waits)) return false;
    bell_.line().ring();
    return true;
}

std::uint64_t SharedSendEnd::tail() noexcept {
    return header_.tail.load(std::memory_order_seq_cst);
}

bool SharedSendEnd::peer_closed() noexcept {
    return header_.receiver_closed.load(std::memory_order_acquire) != 0;  // pairs with the release in close()
}

void SharedSendEnd::end() noexcept {
    if (!bell_.line().is_ours()) return;
    header_.sender_ended.store(1, std::memory_order_release);  // pairs with the acquire in peer_ended()
    bell_.line().ring();
}

void SharedSendEnd::ask_for_bell(std::size_t n_bytes) noexcept {
    bell_.listen(true);
    header_.space_wanted.store(n_bytes, std::memory_order_relaxed);  // ordered by the next line
    header_.sender_waits.store(1, std::memory_order_seq_cst);
}

void SharedSendEnd::take_wish_back() noexcept {
    header_.sender_waits.store(0, std::memory_order_relaxed);  // an unneeded bell does no harm
    bell_.listen(false);
}

// --- Receiving
SharedReceiveEnd::SharedReceiveEnd(SharedRing ring, SharedLine line)
    : ring_(std::move(ring)), header_(ring_->header()), bell_(std::move(line), Way::receive) {}

std::uint64_t SharedReceiveEnd::head() noexcept {
    return header_.head.load(std::memory_order_seq_cst);
}

bool SharedReceiveEnd::peer_ended() noexcept {
    return header_.sender_ended.load(std::memory_order_acquire) != 0;  // pairs with the release in end()
}

bool SharedReceiveEnd::release(std::uint64_t tail, std::size_t n_free) noexcept {
    header_.tail.store(tail, std::memory_order_seq_cst);
    if (header_.sender_waits.load(std::memory_order_seq_cst) == 0) return false;
    if (n_free < header_.space_wanted.load(std::memory_order_relaxed)) return false;  // ordered by the line before
    if (!take_wish(header_.sender_waits)) return false;
    bell_.line().ring();
    return true;
}

void SharedReceiveEnd::close() noexcept {
    if (!bell_.line().is_ours()) return;
    header_.receiver_closed.store(1, std::memory_order_release);  // pairs with the acquire in peer_closed()
    bell_.line().ring();
}

void SharedReceiveEnd::ask_for_bell() noexcept {
    bell_.listen(true);
    header_.receiver_waits.store(1, std::memory_order_seq_cst);
}

void SharedReceiveEnd::take_wish_back() noexcept {
    header_.receiver_waits.store(0, std::memory_order_relaxed);  // an unneeded bell does no harm
    bell_.listen(false);
}

}  // namespace anello::stream
