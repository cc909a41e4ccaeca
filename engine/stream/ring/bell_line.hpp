// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/kernel_handle.hpp"

namespace anello::stream {

/// Rings by one byte on a unix socket, and never waits, whatever the peer does with its end: if the socket is full, a
/// bell is already pending. All users of such bells share it (engine/stream, zmq).
void ring_bell(int socket) noexcept;

/// A stream's direction in which a thread waits.
enum class Way : std::uint8_t { send, receive, count };

/// The control socket of an established stream. A byte on it is the bell of both directions. Its end means that the
/// peer has died. The end of the peer's process means the same, since a forked child may keep the socket open.
///
/// The socket's end is never shared: descriptors from the peer are neither read nor written. A thread that takes a byte
/// passes it on to the thread of the other direction if that one waits for a bell.
class BellLine {
  public:
    /// `peer_process` (pidfd) becomes readable at the peer's end; it may be none. Throws SystemError.
    explicit BellLine(Descriptor socket, Descriptor peer_process = Descriptor());
    /// Hangs up.
    ~BellLine();
    BellLine(const BellLine&) = delete;
    BellLine& operator=(const BellLine&) = delete;

    void ring() const noexcept { ring_bell(socket_.number()); }
    bool peer_alive() const noexcept;
    void hang_up() const noexcept;
    /// False in a fork of the process that made the stream, which must not use the stream.
    bool is_ours() const noexcept;

    // For a Bell
    void watch_with(const Descriptor& epoll, Way way) const;  ///< Throws SystemError.
    void listen(Way way, bool wants_bell) noexcept;
    void take(Way way) noexcept;

  private:
    /// Passes a bell that one direction's thread took to the thread of the other direction.
    struct WakeTarget {
        Descriptor event;
        std::atomic<bool> is_armed{false}, is_signalled{false};
    };
    WakeTarget& target(Way way) noexcept { return targets_[static_cast<std::size_t>(way)]; }

    Descriptor socket_, peer_process_;
    std::array<WakeTarget, static_cast<std::size_t>(Way::count)> targets_;
    const pid_t owner_;
};
/// Shared by both directions.
using SharedLine = std::shared_ptr<BellLine>;

/// The bell of one direction; its one descriptor becomes readable by the bell and by the peer's end. For one thread.
class Bell {
  public:
    Bell(SharedLine line, Way way);  ///< Throws SystemError.

    int descriptor() const noexcept { return both_.number(); }
    void listen(bool wants_bell) noexcept { line_->listen(way_, wants_bell); }
    /// Takes one bell. A side calls it before it requests a bell, so that an honest peer leaves at most one.
    void quiet() noexcept { line_->take(way_); }
    BellLine& line() const noexcept { return *line_; }

  private:
    SharedLine line_;
    Way way_;
    Descriptor both_;
};

}  // namespace anello::stream
