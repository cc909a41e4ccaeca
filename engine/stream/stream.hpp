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

/// Bytes in order, to and from one peer. One thread may send while another receives.
class Stream : public Sender, public Receiver {
  public:
    Stream(std::unique_ptr<SendEnd> send, std::unique_ptr<ReceiveEnd> receive, const StreamConfig& config,
           Counters<StreamCounter> counters) noexcept
        : Sender(std::move(send), config, counters), Receiver(std::move(receive), config, counters) {}

    /// End of stream to the peer, and nothing more from it. Views of what was peeked stay readable.
    void close() noexcept {
        finish();
        stop_receiving();
    }
    /// Nothing can be sent or received any more, and nothing that came is left. Looks whether the peer lives where one
    /// direction alone knows of its end: a system call.
    bool is_over() noexcept {
        return (!receives() || receive_is_over()) && (!sends() || send_is_over() || check_peer() != StreamStatus::ok);
    }
    bool has_memory() const noexcept { return sends() || receives(); }
    /// Memory and descriptors go back, as with the stream's end: before that, over a network, what was sent leaves, for
    /// at most peer_timeout_ns.
    void let_go() noexcept {
        Sender::let_go();
        Receiver::let_go();
    }
    /// Goes without a word, as a process that dies: the peer finds peer_died.
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
    /// Throws ConfigError and SystemError (somebody else listens there).
    Listener(const std::string& address, const StreamConfig& config, Counters<ListenerCounter> counters);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// The next peer that does everything right; null: none until the deadline. Others are refused and counted. Each
    /// stream needs a block of counters of its own. Throws SystemError where memory or descriptors have run out.
    std::unique_ptr<Stream> accept(Counters<StreamCounter> counters, Nanoseconds timeout_ns = no_deadline_ns);

    int descriptor() const noexcept { return listening_.number(); }  ///< Readable when somebody knocks.
    /// Where to connect to, with the port that the system chose.
    std::string address() const { return to_text(address_); }

  private:
    Handshake meet(Descriptor stranger, Counters<StreamCounter> counters);

    const StreamConfig config_;
    StreamAddress address_;
    Descriptor listening_;
    Counters<ListenerCounter> counters_;
};

}  // namespace anello::stream
