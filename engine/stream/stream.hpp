// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/counters/counters.hpp"
#include "core/kernel_handle.hpp"
#include "stream/handshake.hpp"
#include "stream/receiver.hpp"
#include "stream/sender.hpp"
#include "stream/stream_address.hpp"
#include "stream/stream_config.hpp"
#include "stream/stream_counters.hpp"

namespace anello::stream {

/// Ordered bytes to and from one peer. One thread may send while another receives.
class Stream : public Sender, public Receiver {
  public:
    Stream(std::unique_ptr<SendEnd> send, std::unique_ptr<ReceiveEnd> receive, const StreamConfig& config,
           Counters<StreamCounter> counters) noexcept
        : Sender(std::move(send), config, counters), Receiver(std::move(receive), config, counters) {}

    /// Ends the stream to the peer, and accepts no more from it. Peeked data stays readable.
    void close() noexcept {
        finish();
        stop_receiving();
    }
    /// True if nothing more can be sent or received, and all received data has been taken. If only one direction has
    /// noticed an end, it checks whether the peer lives: a system call.
    bool is_over() noexcept {
        return (!receives() || receive_is_over()) && (!sends() || send_is_over() || check_peer() != StreamStatus::ok);
    }
    bool has_memory() const noexcept { return sends() || receives(); }
    /// Releases memory and descriptors, as the destructor does. Over a network it first sends the published data, for
    /// at most peer_timeout_ns.
    void let_go() noexcept {
        Sender::let_go();
        Receiver::let_go();
    }
    /// Ends without a message, like a process that dies: the peer gets peer_died.
    void abandon() noexcept {
        Sender::abandon();
        Receiver::abandon();
    }
};

/// Connects to the listener at `address` (a path, @ and a name, or TRANSPORT://HOST:PORT), within config.connect_ns.
/// Throws ConfigError, also if the two sides are incompatible, and SystemError.
std::unique_ptr<Stream> connect(const std::string& address, const StreamConfig& config,
                                Counters<StreamCounter> counters);

/// Listens for streams of one configuration.
class Listener {
  public:
    /// Throws ConfigError and SystemError (another process listens there).
    Listener(const std::string& address, const StreamConfig& config, Counters<ListenerCounter> counters);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// The next peer with a valid handshake; null: none until the deadline. Others are refused and counted. Each stream
    /// needs its own block of counters. Throws SystemError if memory or descriptors are used up.
    std::unique_ptr<Stream> accept(Counters<StreamCounter> counters, Nanoseconds timeout_ns = no_deadline_ns);

    int descriptor() const noexcept { return listening_.number(); }  ///< Readable when a peer connects.
    /// The address to connect to, with the port that the system chose.
    std::string address() const { return to_text(address_); }

  private:
    Handshake meet(Descriptor stranger, Counters<StreamCounter> counters);

    const StreamConfig config_;
    StreamAddress address_;
    Descriptor listening_;
    Counters<ListenerCounter> counters_;
};

}  // namespace anello::stream
