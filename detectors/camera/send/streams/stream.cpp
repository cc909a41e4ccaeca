// SPDX-License-Identifier: Apache-2.0
#include "camera/send/streams/stream.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/errors.hpp"
#include "wire/bytes.hpp"

namespace anello::camera {
namespace {

using enum CameraStreamCounter;

constexpr std::size_t length_bytes = 4;
constexpr Nanoseconds retry_every_ns = 1'000'000'000;
constexpr Nanoseconds look_every_ns = 100'000'000;

const CameraStreamConfig& validated(const CameraStreamConfig& config) {
    config.validate();
    return config;
}

/// Duplicates the descriptor of a connection that the caller owns.
int another(int connection) {
    const int descriptor = fcntl(connection, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0)
        throw SystemError("cannot take over a connection", errno, "Raise the limit of open files (ulimit -n).");
    return descriptor;
}

sockaddr_in resolve(const CameraStreamConfig& config) {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(config.host.c_str(), nullptr, &hints, &found);
    if (error != 0 || found == nullptr)
        throw ConfigError("camera_send.tcp_host",
                          std::string("must be a host with an IPv4 address: ") + gai_strerror(error), config.host,
                          "Use an address such as 127.0.0.1.");
    sockaddr_in address{};
    std::memcpy(&address, found->ai_addr, sizeof address);
    freeaddrinfo(found);
    address.sin_port = htons(config.port);
    return address;
}

}  // namespace

void CameraStreamConfig::validate() const {
    if (port == 0 && connection < 0)
        throw ConfigError("camera_send.tcp_port", "must be 1 to 65535", "0", "Give the port that the receiver has.");
    if (queue_bytes < 4096 || queue_bytes > (std::size_t{1} << 34))
        throw ConfigError("queue_bytes", "must be 4096 to 17179869184", std::to_string(queue_bytes),
                          "64 MiB hold about 200 events of a NectarCAM.");
}

CameraStream::CameraStream(const CameraStreamConfig& config, const Clock& clock, CounterPage& page,
                           const std::string& block_name)
    : connects_(validated(config).connection < 0),
      address_(connects_ ? resolve(config) : sockaddr_in{}),
      clock_(clock),
      counters_(page.add_block<CameraStreamCounter>(block_name)),
      next_try_ns_(clock.monotonic_ns()),
      queue_(config.queue_bytes) {
    if (connects_) return;
    descriptor_ = another(config.connection);
    state_ = State::connected;
    counters_.add(connections);
}

CameraStream::~CameraStream() {
    close();
}

bool CameraStream::offer(std::span<const std::byte> record) noexcept {
    counters_.add(events_in);
    if (state_ != State::connected) {
        counters_.add(dropped_not_connected);
        return false;
    }
    if (!has_room_for(record.size())) {
        counters_.add(dropped_queue_full);
        return false;
    }
    std::array<std::byte, length_bytes> length;
    wire::store_le(length.data(), static_cast<std::uint32_t>(record.size()));
    put(length);
    put(record);
    if (n_queued_records_++ == 0) front_left_ = length_bytes + record.size();
    return true;
}

bool CameraStream::has_room_for(std::size_t n_bytes) const noexcept {
    return state_ == State::connected && length_bytes + n_bytes <= queue_.size() - n_queued_bytes_;
}

void CameraStream::put(std::span<const std::byte> bytes) noexcept {
    const std::size_t at = (front_ + n_queued_bytes_) % queue_.size();
    const std::size_t before_end = std::min(bytes.size(), queue_.size() - at);
    if (before_end > 0) std::memcpy(queue_.data() + at, bytes.data(), before_end);
    if (before_end < bytes.size()) std::memcpy(queue_.data(), bytes.data() + before_end, bytes.size() - before_end);
    n_queued_bytes_ += bytes.size();
}

std::uint32_t CameraStream::front_record_bytes() const noexcept {
    std::array<std::byte, length_bytes> length;
    for (std::size_t i = 0; i < length_bytes; ++i) length[i] = queue_[(front_ + i) % queue_.size()];
    return wire::load_le<std::uint32_t>(length.data());
}

/// Removes sent bytes from the queue, and counts the records whose last byte was sent.
void CameraStream::take_sent(std::size_t n_bytes) noexcept {
    counters_.add(bytes_sent, n_bytes);
    while (n_bytes > 0) {
        const std::size_t n = std::min(n_bytes, front_left_);
        front_ = (front_ + n) % queue_.size();
        n_queued_bytes_ -= n;
        front_left_ -= n;
        n_bytes -= n;
        if (front_left_ > 0) return;
        counters_.add(events_sent);
        if (--n_queued_records_ > 0) front_left_ = length_bytes + front_record_bytes();
    }
}

void CameraStream::connect_when_due() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (now_ns < next_try_ns_) return;
    next_try_ns_ = now_ns + retry_every_ns;
    descriptor_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) {
        counters_.add(connection_failures);
        return;
    }
    state_ = State::connecting;
    const int error = connect(descriptor_, reinterpret_cast<const sockaddr*>(&address_), sizeof address_);
    if (error == 0 || errno == EINPROGRESS) return;
    counters_.add(connection_failures);
    disconnect();
}

/// A connection attempt has ended when the socket can be written to; the socket's error gives the result. Without an
/// answer the kernel gives up only after minutes, so the stream tries again earlier.
void CameraStream::look_whether_connected() noexcept {
    pollfd watched{descriptor_, POLLOUT, 0};
    const bool ended = poll(&watched, 1, 0) > 0;
    int error = 0;
    socklen_t length = sizeof error;
    if (ended && getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0) {
        counters_.add(connections);
        state_ = State::connected;
    } else if (ended || clock_.monotonic_ns() >= next_try_ns_) {
        counters_.add(connection_failures);
        disconnect();
    }
}

/// Checks at intervals whether the receiver is still there: otherwise its end is not noticed while nothing is sent.
bool CameraStream::receiver_has_left() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (now_ns < next_look_ns_) return false;
    next_look_ns_ = now_ns + look_every_ns;
    pollfd watched{descriptor_, POLLRDHUP, 0};
    return poll(&watched, 1, 0) > 0;
}

void CameraStream::disconnect() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
    counters_.add(lost_disconnected, n_queued_records_);
    front_ = n_queued_bytes_ = n_queued_records_ = front_left_ = 0;
    state_ = connects_ ? State::idle : State::closed;
}

std::size_t CameraStream::do_work() noexcept {
    if (state_ == State::idle) connect_when_due();
    if (state_ == State::connecting) look_whether_connected();
    if (state_ != State::connected) return 0;
    if (n_queued_bytes_ == 0) {
        if (receiver_has_left()) disconnect();
        return 0;
    }
    const std::size_t before_end = std::min(n_queued_bytes_, queue_.size() - front_);
    std::array<iovec, 2> parts{{{queue_.data() + front_, before_end}, {queue_.data(), n_queued_bytes_ - before_end}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t n_sent = sendmsg(descriptor_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n_sent >= 0) {
        take_sent(static_cast<std::size_t>(n_sent));
        return static_cast<std::size_t>(n_sent);
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) disconnect();
    return 0;
}

void CameraStream::close() noexcept {
    if (state_ == State::closed) return;
    counters_.add(lost_at_end, n_queued_records_);
    n_queued_records_ = 0;
    disconnect();
    state_ = State::closed;
}

}  // namespace anello::camera
