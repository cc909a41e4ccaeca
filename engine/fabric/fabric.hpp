// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace anello::fabric {

/// Index of a process of the farm, the same everywhere: 0..n_peers-1. A fabric may be connected to itself.
using Peer = std::uint16_t;

/// A message's header is small and travels with it; the caller decides its content.
inline constexpr std::size_t max_header_bytes = 64;

enum class Status : std::uint8_t {
    ok,
    busy,       ///< no room for now: progress() and try again
    peer_down,  ///< not connected, or no longer
    refused,    ///< larger than max_message_bytes(), an unknown region, or beyond its end
    lost,       ///< only in on_done(): an unreliable transport knows that it did not arrive
};

enum class PeerState : std::uint8_t { absent, connecting, up, down };

/// Memory that peers may write to and read from; valid in the fabric that registered it.
struct Region {
    std::uint32_t index = 0;
    std::size_t size_bytes = 0;
};
/// A peer's region, as attach() knows it.
struct RemoteRegion {
    Peer peer = 0;
    std::uint32_t index = 0;
    std::size_t size_bytes = 0;
};

/// Receives the fabric's events. Called from progress(), on its thread, or from send(), put() and get() where that
/// costs nothing; must not call the fabric back except send(), put() and get().
class Listener {
  public:
    virtual ~Listener() = default;
    /// A message arrives: where does its payload go? A place too small (or empty) discards the message, counted. Not
    /// called without a payload. The fabric owns the place until on_message() or on_lost(), or until
    /// on_peer() says that this peer is down.
    virtual std::span<std::byte> place(Peer from, std::span<const std::byte> header,
                                       std::size_t payload_bytes) noexcept = 0;
    /// A message is there whole; `payload` begins where place() said. `header` is borrowed for this call.
    virtual void on_message(Peer from, std::span<const std::byte> header, std::span<std::byte> payload) noexcept = 0;
    /// A message with a place will not be completed: the place is the caller's again. Unreliable transports only.
    virtual void on_lost(Peer /*from*/, std::span<const std::byte> /*header*/) noexcept {}
    /// Everything this peer put before this signal is in our region.
    virtual void on_signal(Peer from, std::uint64_t signal) noexcept = 0;
    /// The memory behind a send, put or get is the caller's again. Each that returned ok is reported exactly once.
    virtual void on_done(Peer to, std::uint64_t token, Status status) noexcept = 0;
    /// `down` comes once per connection, behind the on_done() of all that was under way to it; after it nothing of this
    /// peer's is written or reported any more, until connect() is called anew.
    virtual void on_peer(Peer peer, PeerState state) noexcept = 0;
};

/// Communication between processes. Set-up throws ConfigError and SystemError, the rest never throws, locks or
/// allocates per byte. One thread, except wake(). Messages of one pair of peers keep their order on reliable
/// transports, and so do signals; a message and a signal may pass each other.
class Fabric {
  public:
    Fabric() = default;
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;
    virtual ~Fabric() = default;

    // --- Set-up
    /// What peers pass to connect(), to be carried to them by other means (MPI, ZeroMQ).
    virtual std::vector<std::byte> address() const = 0;
    /// Begins to connect; on_peer() tells how it went: `up` when both sides called connect(), so that both can send.
    /// Anew after a failure, with the new address of a restarted peer; what there was with it ends as by disconnect().
    /// Throws ConfigError where the address is none of this transport's.
    virtual void connect(Peer peer, std::span<const std::byte> address) = 0;
    /// Forgets the peer: its state is absent, nothing of it is written or reported any more; what is under way to it is
    /// reported with peer_down by the next progress(). The peer finds us down.
    virtual void disconnect(Peer peer) noexcept = 0;
    virtual Region register_memory(std::span<std::byte> memory) = 0;
    virtual void deregister(Region region) noexcept = 0;
    virtual std::vector<std::byte> key(Region region) const = 0;  ///< What peers pass to attach().
    virtual RemoteRegion attach(Peer peer, std::span<const std::byte> key) = 0;

    // --- Data path. Hot path: no allocation, no lock, no log, no throw.
    /// Header (up to max_header_bytes) and payload to a peer; the payload must stay until on_done(token), the header
    /// only for this call.
    virtual Status send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                        std::uint64_t token) noexcept = 0;
    /// A header alone, which may pass by what was sent before; what became of it is not told, but that some transports
    /// call on_done(untold). For words of which a later one says all that an earlier one did.
    virtual Status tell(Peer to, std::span<const std::byte> header) noexcept { return send(to, header, {}, untold); }
    static constexpr std::uint64_t untold = ~std::uint64_t{0} >> 1;
    /// Writes into a peer's region, then raises a signal there; the signal follows the data of all earlier puts to this
    /// peer. An empty `from` only signals.
    virtual Status put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
                       std::uint64_t token) noexcept = 0;
    /// Reads from a peer's region.
    virtual Status get(RemoteRegion from, std::size_t offset, std::span<std::byte> to,
                       std::uint64_t token) noexcept = 0;
    /// Makes progress and tells the listener; never waits. Returns how many things happened. Detects silent peers, so
    /// it must be called at least every heartbeat_ns, even by a waiting thread.
    virtual std::size_t progress() noexcept = 0;

    // --- Waiting
    /// Readable when progress() has something to do, provided that arm() just returned true. If it returned false,
    /// there is something to do already.
    virtual int descriptor() const noexcept = 0;
    virtual bool arm() noexcept = 0;
    virtual void wake() noexcept = 0;  ///< Any thread: makes the descriptor readable.

    virtual PeerState state(Peer peer) const noexcept = 0;
    virtual std::size_t max_message_bytes() const noexcept = 0;
    /// False: messages may be lost, doubled or come out of order (UDP); put and get are refused.
    virtual bool reliable() const noexcept = 0;
    /// For the operator: what this is and what the system granted.
    virtual std::string describe() const = 0;
};

}  // namespace anello::fabric
