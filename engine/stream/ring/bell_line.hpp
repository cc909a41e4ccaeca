// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/kernel_handle.hpp"

namespace anello::stream {

/// Rings by one byte on a unix socket, which never waits: if the socket is full, a bell is already pending, and
/// whatever the peer does with its end, this returns. Shared by all users of such bells (engine/stream, zmq).
void ring_bell(int socket) noexcept;

/// A stream's direction in which a thread waits.
enum class Way : std::uint8_t { send, receive, count };

/// The control socket of an established stream. A byte on it is the bell of both directions. Its end means that the
/// peer has died; so does the end of the peer's process, since a child that it forked may hold the socket open.
///
/// Our end of the socket is ours alone: no descriptor that a peer gave us is ever read or written. A thread that
/// takes a byte passes it on to the thread of the other direction, if that one wants a bell.
class BellLine {
  public:
    /// `peer_process` tells of the peer's end (pidfd); it may be none. Throws SystemError.
    explicit BellLine(Descriptor socket, Descriptor peer_process = Descriptor());
    /// Hangs up.
    ~BellLine();
    BellLine(const BellLine&) = delete;
    BellLine& operator=(const BellLine&) = delete;

    void ring() const noexcept { ring_bell(socket_.number()); }
    bool peer_alive() const noexcept;
    void hang_up() const noexcept;
    /// False in a process forked from the one that made the stream: it cannot speak for the stream.
    bool is_ours() const noexcept;

    // For a Bell
    void watch_with(const Descriptor& epoll, Way way) const;  ///< Throws SystemError.
    void listen(Way way, bool wants_bell) noexcept;
    void take(Way way) noexcept;

  private:
    /// How the thread of one direction learns of a bell that the other one took.
    struct WakeTarget {
        Descriptor event;
        std::atomic<bool> is_armed{false}, is_signalled{false};
    };
    WakeTarget& target(Way way) noexcept { return targets_[static_cast<std::size_t>(way)]; }

    Descriptor socket_, peer_process_;
    std::array<WakeTarget, static_cast<std::size_t>(Way::count)> targets_;
    const pid_t owner_;
};
/// Both directions have it.
using SharedLine = std::shared_ptr<BellLine>;

/// The bell of one direction; poll() of one descriptor tells of it and of the peer's end. One thread.
class Bell {
  public:
    Bell(SharedLine line, Way way);  ///< Throws SystemError.

    int descriptor() const noexcept { return both_.number(); }
    void listen(bool wants_bell) noexcept { line_->listen(way_, wants_bell); }
    /// Takes one bell. A side that asks for a bell quiets first, so that at most one bell of an honest peer is left.
    void quiet() noexcept { line_->take(way_); }
    BellLine& line() const noexcept { return *line_; }

  private:
    SharedLine line_;
    Way way_;
    Descriptor both_;
};

}  // namespace anello::stream
