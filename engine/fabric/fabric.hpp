// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace anello::fabric {

/// Number of a process of the farm, the same in all its processes: 0..n_peers-1. A fabric may connect to itself.
using Peer = std::uint16_t;

/// Largest header of a message. The caller defines what it contains; it is sent together with the payload.
inline constexpr std::size_t max_header_bytes = 64;

enum class Status : std::uint8_t {
    ok,
    busy,       ///< no room for now: call progress() and try again
    peer_down,  ///< the peer is not connected, or no longer
    refused,    ///< larger than max_message_bytes(), an unknown region, or beyond the region's end
    lost,       ///< only in on_done(): an unreliable transport knows that the message did not arrive
};

enum class PeerState : std::uint8_t { absent, connecting, up, down };

/// Memory that peers may write to and read from. It is valid in the fabric that registered it.
struct Region {
    std::uint32_t index = 0;
    std::size_t size_bytes = 0;
};
/// A peer's region, returned by attach().
struct RemoteRegion {
    Peer peer = 0;
    std::uint32_t index = 0;
    std::size_t size_bytes = 0;
};

/// Receives the fabric's events. The fabric calls it from progress(), on its thread, or from send(), put() and get()
/// where that costs nothing. Of the fabric's functions it may call only send(), put() and get().
class Listener {
  public:
    virtual ~Listener() = default;
    /// Asks where the payload of an arriving message is to be written. If the place is too small or empty, the fabric
    /// discards and counts the message. Not called for a message without payload. The fabric owns the place until it
    /// calls on_message() or on_lost(), or until on_peer() reports this peer down.
    virtual std::span<std::byte> place(Peer from, std::span<const std::byte> header,
                                       std::size_t payload_bytes) noexcept = 0;
    /// A message has arrived whole. `payload` begins where place() said. `header` is valid during this call only.
    virtual void on_message(Peer from, std::span<const std::byte> header, std::span<std::byte> payload) noexcept = 0;
    /// A message with a place will not be completed: the caller owns the place again. Only unreliable transports call
    /// it.
    virtual void on_lost(Peer /*from*/, std::span<const std::byte> /*header*/) noexcept {}
    /// All data that this peer put before this signal are in our region.
    virtual void on_signal(Peer from, std::uint64_t signal) noexcept = 0;
    /// The caller owns the memory of a send, put or get again. Each call that returned ok is reported exactly once.
    virtual void on_done(Peer to, std::uint64_t token, Status status) noexcept = 0;
    /// `down` is reported once per connection, after on_done() for all that was on its way to the peer. After that,
    /// nothing of this peer is written or reported until connect() is called again.
    virtual void on_peer(Peer peer, PeerState state) noexcept = 0;
};

/// Communication between processes. Set-up throws ConfigError and SystemError; the other functions never throw, lock or
/// allocate per byte. One thread calls them, except wake(). On reliable transports the messages between two peers keep
/// their order, and so do the signals; a message and a signal may overtake each other.
class Fabric {
  public:
    Fabric() = default;
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;
    virtual ~Fabric() = default;

    // --- Set-up
    /// Returns what peers pass to connect(). The caller carries it to them by other means (MPI, ZeroMQ).
    virtual std::vector<std::byte> address() const = 0;
    /// Begins to connect. on_peer() reports the result: `up` when both sides called connect(), so that both can send.
    /// After a failure call it again, with the new address of a restarted peer; the old connection then ends as by
    /// disconnect(). Throws ConfigError if the address does not belong to this transport.
    virtual void connect(Peer peer, std::span<const std::byte> address) = 0;
    /// Forgets the peer: its state is absent, and nothing of it is written or reported any more. The next progress()
    /// reports all that was on its way to it with peer_down. The peer sees this fabric as down.
    virtual void disconnect(Peer peer) noexcept = 0;
    virtual Region register_memory(std::span<std::byte> memory) = 0;
    virtual void deregister(Region region) noexcept = 0;
    virtual std::vector<std::byte> key(Region region) const = 0;  ///< Returns what peers pass to attach().
    virtual RemoteRegion attach(Peer peer, std::span<const std::byte> key) = 0;

    // --- Data path. Hot path: no allocation, no lock, no log, no throw.
    /// Sends header (up to max_header_bytes) and payload to a peer. The payload must stay valid until on_done(token),
    /// the header only during this call.
    virtual Status send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                        std::uint64_t token) noexcept = 0;
    /// Sends a header only. It may overtake earlier messages, and no completion is reported, except that some
    /// transports call on_done() with the token below. It suits messages of which each replaces the ones before.
    virtual Status tell(Peer to, std::span<const std::byte> header) noexcept { return send(to, header, {}, untold); }
    static constexpr std::uint64_t untold = ~std::uint64_t{0} >> 1;
    /// Writes into a peer's region, then raises a signal there. The signal arrives after the data of all earlier puts
    /// to this peer. An empty `from` only signals.
    virtual Status put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
                       std::uint64_t token) noexcept = 0;
    /// Reads from a peer's region into `to`.
    virtual Status get(RemoteRegion from, std::size_t offset, std::span<std::byte> to,
                       std::uint64_t token) noexcept = 0;
    /// Does the pending work, calls the listener and never waits. Returns the number of events it handled. It detects
    /// silent peers, so it must be called at least every heartbeat_ns, even by a thread that waits.
    virtual std::size_t progress() noexcept = 0;

    // --- Waiting
    /// Becomes readable when progress() has something to do, provided that arm() has just returned true. If arm()
    /// returned false, there is something to do already.
    virtual int descriptor() const noexcept = 0;
    virtual bool arm() noexcept = 0;
    virtual void wake() noexcept = 0;  ///< Makes the descriptor readable; any thread may call it.

    virtual PeerState state(Peer peer) const noexcept = 0;
    virtual std::size_t max_message_bytes() const noexcept = 0;
    /// False: messages may be lost, duplicated or reordered (UDP), and put() and get() are refused.
    virtual bool reliable() const noexcept = 0;
    /// Text for the operator: the transport, and what the system granted.
    virtual std::string describe() const = 0;
};

}  // namespace anello::fabric
