// SPDX-License-Identifier: Apache-2.0
#include "stream/control_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "stream/handshake.hpp"

namespace anello::stream {

void refuse_silent() {
    throw Refused{Refusal::silent, "the other side was silent for too long"};
}

void refuse_gone() {
    throw Refused{Refusal::gone, "the other side has gone"};
}

bool send_all(const Descriptor& control, std::span<const std::byte> bytes) noexcept {
    return send(control.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(bytes.size());
}

void receive_all(const Descriptor& control, std::span<std::byte> room, Nanoseconds deadline_ns) {
    while (!room.empty()) {
        const ssize_t n_bytes = recv(control.number(), room.data(), room.size(), MSG_DONTWAIT);
        const Nanoseconds left_ns = deadline_ns - SystemClock::instance().monotonic_ns();
        if (n_bytes > 0) {
            room = room.subspan(static_cast<std::size_t>(n_bytes));
            if (!room.empty() && left_ns <= 0) refuse_silent();  // limits a peer that sends single bytes for ever
            continue;
        }
        if (n_bytes == 0 || (errno != EAGAIN && errno != EINTR)) refuse_gone();
        pollfd watched{control.number(), POLLIN, 0};
        const auto left_ms = std::clamp<Nanoseconds>(left_ns / 1'000'000 + 1, 0, 1'000'000'000);
        if (left_ns <= 0 || poll(&watched, 1, static_cast<int>(left_ms)) == 0) refuse_silent();
    }
}

}  // namespace anello::stream
