// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>

#include "stream/control_socket.hpp"
#include "stream/handshake.hpp"
#include "stream/ring/ring_memory.hpp"
#include "unit/stream/shared_pair.hpp"

namespace anello::stream::test {

/// The layout that docs/reference/stream-layout.md describes.
struct PlainHello {
    std::uint64_t magic = magic_of("ANELSTRM");
    std::uint32_t version = 2, flags = 3;
    std::uint64_t ring_bytes = smallest_ring_bytes;
    std::array<std::uint64_t, 5> reserved{};
};

/// A peer by hand, which connects as it should and then may change all memory that it can reach.
struct LyingPeer {
    /// flags: 2 for a subscriber, which only receives.
    LyingPeer(const std::string& address, std::uint32_t flags) {
        const Nanoseconds deadline_ns = SystemClock::instance().monotonic_ns() + patience_ns;
        socket = connect_to(address, deadline_ns);
        PlainHello hello;
        hello.flags = flags;
        const std::array given{own.descriptor()};
        EXPECT_TRUE(send_packet(socket, std::as_bytes(std::span(&hello, 1)), given));
        Verdict verdict;
        EXPECT_TRUE(send_packet(socket, std::as_bytes(std::span(&verdict, 1)), {}));
        EXPECT_EQ(receive_packet(socket, std::as_writable_bytes(std::span(&hello, 1)), theirs, deadline_ns),
                  PacketStatus::ok);
        Attached none;
        EXPECT_EQ(receive_packet(socket, std::as_writable_bytes(std::span(&verdict, 1)), none, deadline_ns),
                  PacketStatus::ok);
        EXPECT_EQ(verdict.refusal, 0U);
    }

    /// Sends until its socket takes no more. It makes the socket's buffers as large as a peer can.
    void flood() const {
        const int most = 1 << 30;
        setsockopt(socket.number(), SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
        while (::send(socket.number(), "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) {
        }
    }

    RingMemory own = RingMemory::create(smallest_ring_bytes);  ///< the stream's other side writes here
    Descriptor socket;
    Attached theirs;  ///< the ring that this peer would write into
};

}  // namespace anello::stream::test
