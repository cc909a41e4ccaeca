// SPDX-License-Identifier: Apache-2.0
#include "stream/sender.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/assert.hpp"
#include "stream/ring/ring_layout.hpp"
#include "stream/ring/waiting.hpp"

namespace anello::stream {
namespace {
constexpr std::uint32_t calls_per_alive_check = 1024;
}

Sender::Sender(std::unique_ptr<SendEnd> end, const StreamConfig& config, Counters<StreamCounter> counters) noexcept
    : end_(std::move(end)), config_(config), counters_(counters) {
    if (end_ == nullptr) {
        fault_ = StreamStatus::closed;
        return;
    }
    ring_ = end_->bytes();
    size_bytes_ = end_->size_bytes();
    mask_ = size_bytes_ - 1;
    grain_bytes_ = std::min(config.grain_bytes, size_bytes_ / 4);
}

Sender::~Sender() {
    finish();
}

Transfer Sender::send(ConstBytes bytes, Nanoseconds timeout_ns) noexcept {
    return send(std::span(&bytes, 1), timeout_ns);
}

Transfer Sender::send(std::span<const ConstBytes> parts, Nanoseconds timeout_ns) noexcept {
    Transfer done{refuse_at_once(0), 0};
    Patience patience(timeout_ns);
    for (ConstBytes part : parts) {
        while (!part.empty() && done.status == StreamStatus::ok) {
            const std::size_t wanted = patience.none() ? 1 : std::min(part.size(), grain_bytes_);
            if (n_free() < wanted) done.status = wait_for_space(wanted, patience.left_ns());
            if (done.status != StreamStatus::ok) break;
            const std::size_t n_bytes = std::min({part.size(), n_free(), grain_bytes_});
            copy_in(part.first(n_bytes));
            part = part.subspan(n_bytes);
            done.n_bytes += n_bytes;
        }
    }
    publish();
    if (done.status == StreamStatus::would_block && done.n_bytes > 0) done.status = StreamStatus::ok;
    return done;
}

StreamStatus Sender::reserve(std::size_t n_bytes, Bytes& room, Nanoseconds timeout_ns) noexcept {
    room = {};
    StreamStatus status = refuse_at_once(n_bytes);
    if (status == StreamStatus::ok && n_free() < n_bytes) status = wait_for_space(n_bytes, timeout_ns);
    if (status != StreamStatus::ok) return status;
    n_reserved_ = n_bytes;
    room = {ring_ + (head_ & mask_), n_bytes};
    return StreamStatus::ok;
}

void Sender::commit(std::size_t n_bytes) noexcept {
    ANELLO_ASSERT(n_bytes <= n_reserved_);
    head_ += std::min(n_bytes, n_reserved_);
    n_reserved_ = 0;
    publish();
}

StreamStatus Sender::send_message(ConstBytes message, Nanoseconds timeout_ns) noexcept {
    if (end_ != nullptr && message.size() > largest_message()) {
        counters_.add(StreamCounter::messages_too_large);
        return StreamStatus::too_large;
    }
    const std::size_t n_bytes = message_header_bytes + padded_bytes(message.size());
    StreamStatus status = refuse_at_once(0);
    if (status == StreamStatus::ok && n_free() < n_bytes) status = wait_for_space(n_bytes, timeout_ns);
    if (status != StreamStatus::ok) return status;
    const std::uint64_t length = message.size();
    copy_in(std::as_bytes(std::span(&length, 1)));
    // The receiver may use the first grains while the later ones are copied.
    for (std::size_t begin = 0; begin < message.size(); begin += grain_bytes_)
        copy_in(message.subspan(begin, std::min(grain_bytes_, message.size() - begin)));
    constexpr std::byte zeros[8]{};
    copy_in(ConstBytes(zeros).first(padded_bytes(message.size()) - message.size()));
    publish();
    counters_.add(StreamCounter::messages_sent);
    return StreamStatus::ok;
}

void Sender::finish() noexcept {
    if (end_ == nullptr || ended_) return;
    ended_ = true;
    publish();
    end_->end();
    if (fault_ == StreamStatus::ok) fault_ = StreamStatus::closed;
}

void Sender::abandon() noexcept {
    if (end_ == nullptr || ended_) return;
    ended_ = true;
    end_->hang_up();
    fail(StreamStatus::closed);
}

void Sender::let_go() noexcept {
    finish();
    n_reserved_ = 0;
    end_.reset();
}

StreamStatus Sender::check_peer() noexcept {
    n_unchecked_ = calls_per_alive_check;
    return refuse_at_once(0);
}

int Sender::space_descriptor() noexcept {
    polled_ = true;
    return end_ == nullptr ? -1 : end_->descriptor();
}

std::size_t Sender::largest_message() const noexcept {
    return end_ == nullptr ? 0 : largest_message_bytes(size_bytes_);
}

std::size_t Sender::unread_bytes() noexcept {
    if (end_ != nullptr) look(size_bytes_ + 1);
    return static_cast<std::size_t>(published_ - tail_);
}

/// ok: n_wanted bytes are free. Accepts the peer's tail only if it is between the last one and our head.
StreamStatus Sender::look(std::size_t n_wanted) noexcept {
    const std::uint64_t tail = end_->tail();
    if (tail - tail_ > published_ - tail_) return fail(StreamStatus::corrupt);
    tail_ = tail;
    if (end_->peer_closed()) return fail(StreamStatus::closed);
    return n_free() >= n_wanted ? StreamStatus::ok : StreamStatus::would_block;
}

StreamStatus Sender::wait_for_space(std::size_t n_wanted, Nanoseconds timeout_ns) noexcept {
    publish();
    const auto look_again = [this, n_wanted]() noexcept { return look(n_wanted); };
    StreamStatus status = look_again();
    if (status != StreamStatus::would_block) return status;
    counters_.add(StreamCounter::ring_full);
    if (timeout_ns <= 0) return not_now(n_wanted);
    const std::uint64_t n_slept = n_sleeps_;
    status = Waiting(config_, timeout_ns).wait(*end_, n_sleeps_, look_again, [this, n_wanted]() noexcept {
        end_->ask_for_bell(n_wanted);
    });
    counters_.add(StreamCounter::sender_sleeps, n_sleeps_ - n_slept);
    if (status == StreamStatus::timeout) counters_.add(StreamCounter::sender_timeouts);
    return status == StreamStatus::peer_died ? fail(status) : status;
}

/// Checks that need no look at the ring. They find a receiver that closed or died also when the ring is not full.
StreamStatus Sender::refuse_at_once(std::size_t n_wanted) noexcept {
    n_reserved_ = 0;  // a reservation begins at head_, which will move
    if (fault_ != StreamStatus::ok) return fault_;
    if (n_wanted > size_bytes_) {
        counters_.add(StreamCounter::messages_too_large);
        return StreamStatus::too_large;
    }
    if (end_->peer_closed()) return fail(StreamStatus::closed);
    if (++n_unchecked_ < calls_per_alive_check) return StreamStatus::ok;
    n_unchecked_ = 0;
    return end_->peer_alive() ? StreamStatus::ok : fail_by_end();
}

/// For polling callers: requests a bell for room, then looks once more.
StreamStatus Sender::not_now(std::size_t n_wanted) noexcept {
    if (polled_) {
        end_->quiet_bell();
        end_->ask_for_bell(n_wanted);
        const StreamStatus found = look(n_wanted);
        if (found != StreamStatus::would_block) return found;
    } else if (++n_unchecked_ < calls_per_alive_check) {
        return StreamStatus::would_block;
    }
    n_unchecked_ = 0;
    return end_->peer_alive() ? StreamStatus::would_block : fail_by_end();
}

/// The peer has died: a last look shows whether it closed before.
StreamStatus Sender::fail_by_end() noexcept {
    return fail(end_->peer_closed() ? StreamStatus::closed : StreamStatus::peer_died);
}

StreamStatus Sender::fail(StreamStatus fault) noexcept {
    if (fault_ == StreamStatus::ok) {
        if (fault == StreamStatus::corrupt) counters_.add(StreamCounter::sender_corrupt);
        if (fault == StreamStatus::peer_died) counters_.add(StreamCounter::sender_peer_died);
        fault_ = fault;
    }
    return fault_;
}

/// There must be room. Copies in one piece, since the ring is mapped twice; publishes whenever a grain is complete.
void Sender::copy_in(ConstBytes bytes) noexcept {
    ANELLO_ASSERT(bytes.size() <= n_free());
    if (bytes.empty()) return;
    std::memcpy(ring_ + (head_ & mask_), bytes.data(), bytes.size());
    head_ += bytes.size();
    if (head_ - published_ >= grain_bytes_) publish();
}

void Sender::publish() noexcept {
    if (head_ == published_) return;
    counters_.add(StreamCounter::bytes_sent, head_ - published_);
    counters_.add(StreamCounter::publishes);
    published_ = head_;
    if (end_->publish(head_)) counters_.add(StreamCounter::data_bells_rung);
}

}  // namespace anello::stream
