// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "fabric/fabric.hpp"

/// The protocol of the TCP transport; docs/reference/fabric.md specifies it.
namespace anello::fabric {

static_assert(std::endian::native == std::endian::little, "frames are little-endian and used where they lie");

inline constexpr std::uint32_t tcp_magic = 0x54464e41;  // "ANFT"
inline constexpr std::uint16_t tcp_version = 1;

/// The first bytes on a connection. `to` is the incarnation of the process that the sender wants to reach.
struct TcpHello {
    std::uint32_t magic;
    std::uint16_t version;
    Peer peer;
    std::uint64_t farm_id;
    std::uint64_t from, to;
};
static_assert(sizeof(TcpHello) == 32);

/// The answer to the hello, the only bytes in the other direction. After it, frames may follow.
struct TcpWelcome {
    std::uint32_t magic;
    std::uint16_t version;
    Peer peer;
    std::uint64_t from;
};
static_assert(sizeof(TcpWelcome) == 16);

enum class FrameKind : std::uint8_t { message = 1, put, get, done, heartbeat };

/// Begins each frame; header_bytes and payload_bytes follow it. Fields that a kind does not use are 0.
struct FrameHead {
    FrameKind kind = FrameKind::heartbeat;
    std::uint8_t header_bytes = 0;  ///< message
    Status status = Status::ok;     ///< done
    std::uint8_t zero = 0;
    std::uint32_t region = 0;         ///< put, get
    std::uint64_t payload_bytes = 0;  ///< message, put, done
    std::uint64_t offset = 0;         ///< put, get
    std::uint64_t tag = 0;            ///< put: the signal; get: how many bytes
};
static_assert(sizeof(FrameHead) == 32);

/// Whether a peer may send this head.
bool well_formed(const FrameHead& head, std::size_t max_message_bytes) noexcept;

/// Receives the frames that a FrameReader finds.
class FrameSink {
  public:
    struct Destination {
        bool accepted = true;        ///< false: this breaks the protocol
        std::byte* begin = nullptr;  ///< where the payload is written; null: it is dropped
    };
    virtual ~FrameSink() = default;
    virtual Destination begin_frame(Peer from, const FrameHead& head, std::span<const std::byte> header) noexcept = 0;
    /// The payload is written or dropped. Returns false if the frame breaks the protocol.
    virtual bool end_frame(Peer from, const FrameHead& head, std::span<const std::byte> header,
                           std::byte* payload) noexcept = 0;
};

/// Finds frames in a stream of bytes that arrives in pieces of any size. Payloads are read straight to their place,
/// except for bytes that arrived together with the head.
class FrameReader {
  public:
    static constexpr std::size_t staging_bytes = 65536;

    FrameReader(FrameSink& sink, std::size_t max_message_bytes)
        : sink_(&sink), max_message_bytes_(max_message_bytes), staging_(new std::byte[staging_bytes]) {}

    void reset(Peer from) noexcept;

    /// Hot path, both functions: no allocation, no lock, no log, no throw.
    std::array<iovec, 2> room() noexcept;  ///< Where the next bytes are to be written, in this order.
    /// n_bytes arrived. False: they break the protocol, and the reader stops.
    bool take(std::size_t n_bytes) noexcept;

    /// The head of a put whose payload is arriving; valid while is_inside().
    const FrameHead& head() const noexcept { return head_; }
    bool is_inside() const noexcept { return inside_; }

  private:
    enum class Begin : std::uint8_t { incomplete, begun, wrong };
    bool consume() noexcept;
    Begin try_begin() noexcept;
    void take_payload(std::size_t n_bytes) noexcept;

    FrameSink* sink_;
    std::size_t max_message_bytes_;
    std::unique_ptr<std::byte[]> staging_;
    std::size_t begin_ = 0, end_ = 0;  ///< the unread bytes in staging_
    FrameHead head_;
    std::array<std::byte, max_header_bytes> header_{};
    std::byte* destination_ = nullptr;
    std::uint64_t n_payload_ = 0;  ///< bytes of the payload that arrived
    bool inside_ = false;
    Peer from_ = 0;
};

}  // namespace anello::fabric
