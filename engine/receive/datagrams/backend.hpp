// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/clock.hpp"
#include "receive/datagrams/source_address.hpp"

namespace anello::receive {

/// One datagram as a backend lends it. Always a single datagram: super-packets (GRO) are split by the backend.
struct Datagram {
    std::span<const std::byte> bytes;
    std::uint16_t stream = 0;
    bool cut = false;           ///< longer than the backend's slots; `bytes` is only its beginning
    Nanoseconds kernel_ns = 0;  ///< kernel's receive stamp (wall clock), 0 = none
    SourceAddress source{};
};

/// What one call of the system brings at most where nobody has measured better. PERF NOTE: it should still be in the
/// core's cache when it is copied on (camera_receive; 64 super-packets would be 4 MB).
inline constexpr std::size_t usual_call_bytes = std::size_t{128} << 10;

/// The bounds of their keys.
inline constexpr std::uint32_t max_batch_datagrams = 1024;
inline constexpr std::size_t largest_receive_buffer_bytes = std::size_t{1} << 30;  ///< the system doubles it, in an int

/// The interface of all backends: sockets, io_uring, AF_XDP and capture files. One thread calls
/// receive().
class Backend {
  public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    virtual std::size_t n_streams() const noexcept = 0;
    /// The UDP port behind a stream, as the system chose it where it was left open.
    virtual std::uint16_t port(std::uint16_t stream) const noexcept = 0;
    /// Fills `batch` from its front with what is there now, never waits; returns how many. What the datagrams point
    /// to is borrowed until the next call. Datagrams of one stream keep their order.
    virtual std::size_t receive(std::span<Datagram> batch) noexcept = 0;
    /// How much one call of the system should bring at most, about: so much stays in a cache until it is copied on.
    /// False: this backend's calls bring what they bring. Called by the receiving thread.
    virtual bool set_call_bytes(std::size_t) noexcept { return false; }
    /// False: this stream's datagrams must stay where they are until further notice. Called by the receiving thread.
    virtual void set_wanted(std::uint16_t stream, bool wanted) noexcept = 0;
    /// Nothing of this stream is left to lend: all that had come when receive() was called last has been lent. False
    /// also where that is not known, as of a stream that is not wanted. What time-outs go by (read_times.hpp).
    virtual bool is_read(std::uint16_t stream) const noexcept = 0;
    /// How long the system may hold a datagram before receive() sees it.
    virtual Nanoseconds held_back_ns() const noexcept { return 0; }
    /// Datagrams that the system dropped in front of this stream, as far as it tells (with GRO it may count a whole
    /// super-packet as one). May cost a system call.
    virtual std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept = 0;
    /// Of these, frames that a network card refused: the system never had them.
    virtual std::uint64_t refused(std::uint16_t) const noexcept { return 0; }
    /// Super-packets split so far: a rate that used them must say so.
    virtual std::uint64_t n_super_packets(std::uint16_t) const noexcept { return 0; }
    /// Readable when receive() would give something; -1: this backend has no such descriptor.
    virtual int descriptor() const noexcept { return -1; }
    /// The kernel has datagrams that it will deliver in a moment, although receive() returns none now. A system call.
    virtual bool has_more_coming() const noexcept { return false; }
    /// True when nothing will ever come again (the end of a file); sockets never finish.
    virtual bool finished() const noexcept { return false; }
    /// For the operator: what this is and what the system granted.
    virtual std::string describe() const = 0;
    /// Likewise, in any thread: why nothing comes any more; empty: it works.
    virtual std::string trouble() const { return {}; }
};

}  // namespace anello::receive
