// SPDX-License-Identifier: Apache-2.0
#include "publish/zmq_publisher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "core/errors.hpp"

namespace anello::publish {
namespace {

constexpr int max_topic_bytes = 256;  // longer topic requests are cut
constexpr int requests_at_once = 64;
constexpr std::chrono::milliseconds look_again{1};

/// libzmq gathers short messages and returns their buffers before they are in the kernel, so closing would lose them.
/// For a message longer than two of its batches of 8 KiB, the buffer returns only when it and all messages before it
/// are in the kernel.
constexpr std::array<std::uint8_t, 16'384> end_padding{};
constexpr std::size_t end_bytes = sizeof(RecordHeader) + sizeof(ArrayEntry) + end_padding.size();

void give_back(void* /*bytes*/, void* lent) noexcept {
    static_cast<std::atomic<Lent>*>(lent)->store(Lent::no, std::memory_order_release);  // pairs with fill_message()
}

}  // namespace

ZmqPublisher::ZmqPublisher(const PublishConfig& config, std::size_t largest_record_bytes, const Clock& clock,
                           CounterPage& page)
    : Publisher(config, largest_record_bytes, clock, page),
      buffers_({.n_buffers = config.n_buffers,
                .buffer_bytes = std::max(largest_record_bytes, end_bytes),
                .kind = memory::Kind::host}),
      lent_(std::make_unique<std::atomic<Lent>[]>(config.n_buffers)),
      context_(zmq_ctx_new()) {
    make_socket();
}

ZmqPublisher::~ZmqPublisher() {
    close();
}

void ZmqPublisher::make_socket() {
    socket_.reset(zmq_socket(context_.get(), is_pub() ? ZMQ_XPUB : ZMQ_PUSH));
    if (socket_ == nullptr) throw SystemError("cannot make a ZeroMQ socket", errno, "Raise the limit of open files.");
    const auto share = std::max<std::uint32_t>(1, config().n_buffers / config().max_subscribers);
    set(ZMQ_SNDHWM, static_cast<int>(share));
    set(ZMQ_LINGER, 0);  // close() has already waited
    if (is_pub()) set(ZMQ_XPUB_NODROP, config().when_full == WhenFull::wait ? 1 : 0);
    const std::int64_t max_bytes = max_topic_bytes;
    zmq_setsockopt(socket_.get(), ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes);
    if (zmq_bind(socket_.get(), config().address.c_str()) != 0)
        throw SystemError(fmt::format("cannot publish at {}", config().address), errno,
                          "Choose another publish.address, or stop the program that uses it.");
    std::array<char, 512> bound{};
    std::size_t n_bytes = bound.size();
    zmq_getsockopt(socket_.get(), ZMQ_LAST_ENDPOINT, bound.data(), &n_bytes);
    address_ = bound.data();
}

/// Warns that ZeroMQ does not authenticate subscribers here.
Notices ZmqPublisher::notices() {
    Notices lines = Publisher::notices();
    const bool is_local = address_.starts_with("ipc://") || address_.starts_with("tcp://127.");
    if (!std::exchange(is_openness_reported_, true) && !is_local)
        lines.push_back(
            fmt::format("publish: anyone who can reach {} can subscribe without a key: restrict access to it, or "
                        "publish at tcp://127.0.0.1 and use a tunnel",
                        address_));
    return lines;
}

void ZmqPublisher::set(int option, int value) {
    if (zmq_setsockopt(socket_.get(), option, &value, sizeof value) != 0)
        throw SystemError(fmt::format("libzmq refuses option {}", option), errno, "Use libzmq 4.3 or later.");
}

// Hot path: no lock, no log, no throw; libzmq takes some 40 bytes of memory per message.
Publisher::Outcome ZmqPublisher::offer(const OutgoingRecord& record, bool may_drop) noexcept {
    if (!has_peers()) return Outcome::nobody;
    if (!has_room() || (!holds_message_ && !fill_message(record))) return Outcome::full;
    return send_message(may_drop);
}

/// PUSH always returns true, because it cannot know: without a peer it has no room.
bool ZmqPublisher::has_peers() noexcept {
    if (!is_pub()) return true;
    std::array<char, max_topic_bytes + 1> request;  // 1 or 0, and a topic; libzmq reports each topic once
    for (int i = 0; i < requests_at_once; ++i) {
        if (zmq_recv(socket_.get(), request.data(), request.size(), ZMQ_DONTWAIT) <= 0) break;
        if (request[0] == 1) ++n_topics_;
        if (request[0] == 0 && n_topics_ > 0) --n_topics_;
    }
    return n_topics_ > 0;
}

bool ZmqPublisher::has_room() noexcept {
    int events = 0;
    std::size_t n_bytes = sizeof events;
    return zmq_getsockopt(socket_.get(), ZMQ_EVENTS, &events, &n_bytes) == 0 && (events & ZMQ_POLLOUT) != 0;
}

/// Returns false if all buffers are with libzmq. They return nearly in order, so either the next one is free or none.
bool ZmqPublisher::fill_message(const OutgoingRecord& record) noexcept {
    const std::uint32_t n = buffers_.n_buffers();
    for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t buffer = (next_buffer_ + i) % n;
        if (lent_[buffer].load(std::memory_order_acquire) != Lent::no) continue;  // pairs with give_back()
        std::byte* const bytes = buffers_.bytes(buffer).data();
        if (zmq_msg_init_data(&message_, bytes, record.length_bytes(), &give_back, &lent_[buffer]) != 0) return false;
        const bool is_end = record.header->kind == RecordKind::end;
        lent_[buffer].store(is_end ? Lent::end : Lent::record, std::memory_order_relaxed);  // no reader so far
        record.copy_to(bytes);
        next_buffer_ = (buffer + 1) % n;
        holds_message_ = true;
        return true;
    }
    return false;
}

Publisher::Outcome ZmqPublisher::send_message(bool may_drop) noexcept {
    const bool is_sent = zmq_msg_send(&message_, socket_.get(), ZMQ_DONTWAIT) >= 0;
    const bool is_full = !is_sent && (errno == EAGAIN || errno == EINTR);
    if (is_full && !may_drop) return Outcome::full;  // keeps the message for the next try
    holds_message_ = false;
    if (is_sent) return Outcome::sent;
    zmq_msg_close(&message_);
    return is_full ? Outcome::full : Outcome::failed;
}

// --- The control thread, after the publishing thread has stopped
void ZmqPublisher::close() noexcept {
    if (socket_ == nullptr) return;
    if (holds_message_) zmq_msg_close(&message_);
    holds_message_ = false;
    send_end();
    count(PublishCounter::records_left_at_end, n_lent(Lent::record));
    socket_.reset();
}

/// Informs each subscriber of the end, and lets libzmq send what it has. PUSH serves one subscriber after the other.
/// PUB skips a subscriber that had no room until it has read, even if it must not drop. So everything else is sent
/// first, as long as half the time is left.
void ZmqPublisher::send_end() noexcept {
    RecordWriter end(RecordKind::end, 1, 0);
    end.begin(0);
    end.add_array("padding", std::span<const std::uint8_t>(end_padding));
    const OutgoingRecord record = end.finish();
    record.header->sequence = next_sequence();
    record.header->published_ns = clock().wall_ns();
    std::uint32_t n_left = is_pub() ? 1 : config().max_subscribers;
    const int no_drop = 1;  // slow subscribers must get the end, too
    if (is_pub()) zmq_setsockopt(socket_.get(), ZMQ_XPUB_NODROP, &no_drop, sizeof no_drop);
    const auto begin = std::chrono::steady_clock::now();
    const std::chrono::nanoseconds longest(config().end_timeout_ns), time_to_read(config().read_timeout_ns);
    std::chrono::steady_clock::duration left{};
    for (;;) {
        const auto waited = std::chrono::steady_clock::now() - begin;
        const bool is_its_turn = !is_pub() || n_lent() == 0 || waited > longest / 2;
        Outcome outcome = Outcome::sent;
        while (is_its_turn && n_left > 0 && (outcome = offer(record, true)) == Outcome::sent) --n_left;
        // Count before asking for room: if all messages have left, there is room unless there is no peer. Asking also
        // lets libzmq notice departed subscribers.
        const bool all_have_left = n_lent() == 0;
        const bool is_somebody_there = has_room() && has_peers() && outcome != Outcome::nobody;
        if (!all_have_left || (is_somebody_there && n_left > 0)) left = waited;
        if ((all_have_left && !is_somebody_there) || waited - left > time_to_read || waited > longest) return;
        std::this_thread::sleep_for(look_again);
    }
}

std::uint32_t ZmqPublisher::n_lent() const noexcept {
    return n_lent(Lent::record) + n_lent(Lent::end);
}

std::uint32_t ZmqPublisher::n_lent(Lent what) const noexcept {
    return static_cast<std::uint32_t>(
        std::count_if(lent_.get(), lent_.get() + buffers_.n_buffers(),
                      [what](const std::atomic<Lent>& lent) { return lent.load(std::memory_order_acquire) == what; }));
}

}  // namespace anello::publish
