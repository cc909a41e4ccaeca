// SPDX-License-Identifier: Apache-2.0
#include "stream/receiver.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/assert.hpp"
#include "core/copy_ahead.hpp"
#include "stream/ring/ring_layout.hpp"
#include "stream/ring/waiting.hpp"

namespace anello::stream {
namespace {

constexpr std::uint32_t looks_per_alive_check = 1024;
/// Size of destinations that are not in the cache. PERF NOTE: 6.3 instead of 5.4 GB/s for 16 MB received at once; for 4
/// MB at once it is 5 % slower (stream bench).
constexpr std::size_t far_bytes = std::size_t{8} << 20;

}  // namespace

Receiver::Receiver(std::unique_ptr<ReceiveEnd> end, const StreamConfig& config,
                   Counters<StreamCounter> counters) noexcept
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

Receiver::~Receiver() {
    stop_receiving();
}

Transfer Receiver::recv(Bytes room, Nanoseconds timeout_ns) noexcept {
    return recv(std::span<const Bytes>(&room, 1), timeout_ns);
}

Transfer Receiver::recv(std::span<const Bytes> parts, Nanoseconds timeout_ns) noexcept {
    if (std::all_of(parts.begin(), parts.end(), [](Bytes part) { return part.empty(); }))
        return {fault_ == StreamStatus::corrupt ? fault_ : StreamStatus::ok, 0};
    Transfer done{wait_for_data(1, timeout_ns), 0};
    if (done.status != StreamStatus::ok) return done;
    for (const Bytes part : parts) done.n_bytes += copy_out(part);
    return done;
}

Transfer Receiver::recv_all(Bytes room, Nanoseconds timeout_ns) noexcept {
    Transfer all;
    Patience patience(timeout_ns);
    while (!room.empty() && all.status == StreamStatus::ok) {
        // Receives pieces of a grain, so that a sender that publishes often does not cause many tiny copies.
        const std::size_t wanted = patience.none() ? 1 : std::min(room.size(), grain_bytes_);
        all.status = wait_for_data(wanted, patience.left_ns());
        if (all.status == StreamStatus::corrupt) break;
        // At the deadline, and at the end of stream, pieces may be smaller.
        const std::size_t n_bytes = copy_out(room);
        room = room.subspan(n_bytes);
        all.n_bytes += n_bytes;
    }
    return all;
}

StreamStatus Receiver::peek(ConstBytes& found, std::size_t n_bytes, Nanoseconds timeout_ns) noexcept {
    found = {};
    if (end_ != nullptr && n_bytes > size_bytes_) return StreamStatus::too_large;
    const StreamStatus status = wait_for_data(n_bytes, timeout_ns);
    if (status != StreamStatus::corrupt && n_there() > 0) found = {ring_ + (tail_ & mask_), n_there()};
    return status;
}

void Receiver::release(std::size_t n_bytes) noexcept {
    ANELLO_ASSERT(n_bytes <= n_there());
    n_bytes = std::min(n_bytes, n_there());
    if (n_bytes == 0) return;
    has_message_ = false;  // it began at tail_
    tail_ += n_bytes;
    counters_.add(StreamCounter::bytes_received, n_bytes);
    counters_.add(StreamCounter::releases);
    if (end_->release(tail_, size_bytes_ - n_there())) counters_.add(StreamCounter::space_bells_rung);
}

StreamStatus Receiver::peek_message(ConstBytes& message, Nanoseconds timeout_ns) noexcept {
    message = {};
    Patience patience(timeout_ns);
    if (!has_message_) {
        const StreamStatus status = wait_for_data(message_header_bytes, patience.left_ns());
        if (status != StreamStatus::ok) return fail_frame(status);
        std::uint64_t length = 0;
        std::memcpy(&length, ring_ + (tail_ & mask_), sizeof length);
        if (length > largest_message_bytes(size_bytes_)) return fail(StreamStatus::corrupt);
        message_bytes_ = static_cast<std::size_t>(length);
        has_message_ = true;
    }
    const StreamStatus status = wait_for_data(message_header_bytes + padded_bytes(message_bytes_), patience.left_ns());
    if (status != StreamStatus::ok) return fail_frame(status);
    message = {ring_ + (tail_ & mask_) + message_header_bytes, message_bytes_};
    return StreamStatus::ok;
}

void Receiver::release_message() noexcept {
    const std::size_t n_bytes = message_header_bytes + padded_bytes(message_bytes_);
    if (!has_message_ || n_there() < n_bytes) return;
    release(n_bytes);
    counters_.add(StreamCounter::messages_received);
}

Transfer Receiver::recv_message(Bytes room, Nanoseconds timeout_ns) noexcept {
    ConstBytes message;
    const StreamStatus status = peek_message(message, timeout_ns);
    if (status != StreamStatus::ok) return {status, 0};
    if (message.size() > room.size()) return {StreamStatus::too_large, message.size()};
    if (!message.empty()) std::memcpy(room.data(), message.data(), message.size());
    release_message();
    return {StreamStatus::ok, message.size()};
}

void Receiver::stop_receiving() noexcept {
    if (end_ == nullptr || stopped_) return;
    stopped_ = true;
    end_->close();
    if (fault_ == StreamStatus::ok) fault_ = StreamStatus::closed;
}

void Receiver::abandon() noexcept {
    if (end_ == nullptr || stopped_) return;
    stopped_ = true;
    end_->hang_up();
    fail(StreamStatus::closed);
}

void Receiver::let_go() noexcept {
    stop_receiving();
    head_ = tail_;
    has_message_ = false;
    end_.reset();
}

int Receiver::data_descriptor() noexcept {
    polled_ = true;
    return end_ == nullptr ? -1 : end_->descriptor();
}

/// ok: n_wanted bytes are available. Accepts the peer's head only if it is between the last one and a full ring.
StreamStatus Receiver::look(std::size_t n_wanted) noexcept {
    peer_ended_ = end_->peer_ended();  // before head(), which is final afterwards
    const std::uint64_t head = end_->head();
    if (head - head_ > size_bytes_ - n_there()) return fail(StreamStatus::corrupt);
    head_ = head;
    if (n_there() >= n_wanted) return StreamStatus::ok;
    return peer_ended_ ? StreamStatus::closed : StreamStatus::would_block;
}

StreamStatus Receiver::wait_for_data(std::size_t n_wanted, Nanoseconds timeout_ns) noexcept {
    if (fault_ == StreamStatus::corrupt || stopped_ || end_ == nullptr) return fault_;
    if (n_there() >= n_wanted) return StreamStatus::ok;
    const auto look_again = [this, n_wanted]() noexcept { return look(n_wanted); };
    StreamStatus status = look_again();
    if (status != StreamStatus::would_block) return status;
    counters_.add(StreamCounter::ring_empty);
    if (fault_ != StreamStatus::ok) return fault_;
    if (timeout_ns <= 0) return not_now(n_wanted);
    const std::uint64_t n_slept = n_sleeps_;
    status =
        Waiting(config_, timeout_ns).wait(*end_, n_sleeps_, look_again, [this]() noexcept { end_->ask_for_bell(); });
    counters_.add(StreamCounter::receiver_sleeps, n_sleeps_ - n_slept);
    if (status == StreamStatus::timeout) counters_.add(StreamCounter::receiver_timeouts);
    return status == StreamStatus::peer_died ? fail(status) : status;
}

/// For polling callers: requests a bell for new data, then looks once more.
StreamStatus Receiver::not_now(std::size_t n_wanted) noexcept {
    if (polled_) {
        end_->quiet_bell();
        end_->ask_for_bell();
    } else if (++n_unchecked_ < looks_per_alive_check) {
        return StreamStatus::would_block;
    }
    n_unchecked_ = 0;
    // Checks that the peer lives before the look, so that data published before its death is not missed.
    const bool alive = end_->peer_alive();
    const StreamStatus found = look(n_wanted);
    return found != StreamStatus::would_block || alive ? found : fail(StreamStatus::peer_died);
}

StreamStatus Receiver::fail(StreamStatus fault) noexcept {
    if (fault_ == StreamStatus::ok || (fault == StreamStatus::corrupt && fault_ != StreamStatus::corrupt)) {
        if (fault == StreamStatus::corrupt) counters_.add(StreamCounter::receiver_corrupt);
        if (fault == StreamStatus::peer_died) counters_.add(StreamCounter::receiver_peer_died);
        fault_ = fault;
    }
    return fault_;
}

/// An error if the stream ends within a message, unless this side closed it.
StreamStatus Receiver::fail_frame(StreamStatus status) noexcept {
    return status == StreamStatus::closed && !stopped_ && n_there() > 0 ? fail(StreamStatus::corrupt) : status;
}

std::size_t Receiver::copy_out(Bytes room) noexcept {
    const std::size_t n_bytes = std::min(room.size(), n_there());
    const bool is_far = room.size() >= far_bytes;
    for (std::size_t begin = 0; begin < n_bytes; begin += grain_bytes_) {
        const ConstBytes grain(ring_ + (tail_ & mask_), std::min(grain_bytes_, n_bytes - begin));
        if (is_far)
            copy_ahead(room.data() + begin, grain);
        else
            std::memcpy(room.data() + begin, grain.data(), grain.size());
        release(grain.size());
    }
    return n_bytes;
}

}  // namespace anello::stream
