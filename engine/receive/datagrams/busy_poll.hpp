// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

namespace anello::receive {

/// Makes calls that look for datagrams on this socket poll the card's queue for busy_poll_us, n_frames at a time (0:
/// the system chooses). In preferred mode the system switches the card's interrupts off in the meantime (Linux 5.11).
/// Returns the error of a refusal, 0: none.
inline int ask_for_busy_poll(int descriptor, std::uint32_t busy_poll_us, int n_frames = 0) noexcept {
    const auto set = [descriptor](int option, int value) {
        return setsockopt(descriptor, SOL_SOCKET, option, &value, sizeof value) == 0;
    };
    const bool granted = set(SO_BUSY_POLL, static_cast<int>(busy_poll_us)) && set(SO_PREFER_BUSY_POLL, 1) &&
                         (n_frames == 0 || set(SO_BUSY_POLL_BUDGET, n_frames));
    return granted ? 0 : errno;
}

}  // namespace anello::receive
