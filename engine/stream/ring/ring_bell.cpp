// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include "stream/ring/bell_line.hpp"

namespace anello::stream {

// A file of its own, because libzmq's engine uses nothing else of bell_line.cpp.
void ring_bell(int socket) noexcept {
    constexpr char bell = '!';
    [[maybe_unused]] const auto sent = send(socket, &bell, sizeof bell, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace anello::stream
