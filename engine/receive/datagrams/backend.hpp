// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/clock.hpp"
#include "receive/datagrams/source_address.hpp"

namespace anello::receive {

/// One datagram that a backend lends to its caller. It is always a single one: the backend splits super-packets (GRO).
struct Datagram {
    std::span<const std::byte> bytes;
    std::uint16_t stream = 0;
    bool cut = false;           ///< longer than the backend's slots; `bytes` is only its start
    Nanoseconds kernel_ns = 0;  ///< kernel's receive stamp (wall clock), 0 = none
    SourceAddress source{};
};

/// Default of the bytes that one system call should return. PERF NOTE: they should still be in the core's cache when
/// they are copied on (camera_receive; 64 super-packets would be 4 MB).
inline constexpr std::size_t usual_call_bytes = std::size_t{128} << 10;

/// The bounds of the keys.
inline constexpr std::uint32_t max_batch_datagrams = 1024;
inline constexpr std::size_t largest_receive_buffer_bytes = std::size_t{1} << 30;  ///< the kernel doubles it, in an int

/// The interface of all backends: sockets, io_uring, AF_XDP and capture files. One thread calls receive().
class Backend {
  public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    virtual std::size_t n_streams() const noexcept = 0;
    /// The UDP port of a stream; the one that the system chose if it was 0.
    virtual std::uint16_t port(std::uint16_t stream) const noexcept = 0;
    /// Fills `batch` from its front with the datagrams available now, and never waits; returns their number. The
    /// datagrams' bytes are valid until the next call. Datagrams of one stream keep their order.
    virtual std::size_t receive(std::span<Datagram> batch) noexcept = 0;
    /// Sets how many bytes one system call should return at most, approximately, so that they stay in a cache until
    /// they are copied on. Returns false if this backend cannot limit its calls. Called by the receiving thread.
    virtual bool set_call_bytes(std::size_t) noexcept { return false; }
    /// If false, this stream's datagrams must stay in the kernel until further notice. Called by the receiving thread.
    virtual void set_wanted(std::uint16_t stream, bool wanted) noexcept = 0;
    /// True if all datagrams of this stream that had arrived at the last receive() have been lent. False also if that
    /// is not known, for example for a stream that is not wanted. Time-outs are based on it (read_times.hpp).
    virtual bool is_read(std::uint16_t stream) const noexcept = 0;
    /// How long the system may hold a datagram before receive() returns it.
    virtual Nanoseconds held_back_ns() const noexcept { return 0; }
    /// Datagrams of this stream that the system dropped before they were read, as far as it reports them (with GRO it
    /// may count a super-packet as one). May cost a system call.
    virtual std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept = 0;
    /// Subset of kernel_dropped(): frames the network card dropped before the kernel saw them.
    virtual std::uint64_t refused(std::uint16_t) const noexcept { return 0; }
    /// Super-packets split so far; results of measurements must mention their use.
    virtual std::uint64_t n_super_packets(std::uint16_t) const noexcept { return 0; }
    /// Readable when receive() would return datagrams; -1: this backend has no such descriptor.
    virtual int descriptor() const noexcept { return -1; }
    /// True if the kernel has datagrams that it will deliver in a moment, although receive() returns none now. A system
    /// call.
    virtual bool has_more_coming() const noexcept { return false; }
    /// True if no more datagrams will come (the end of a file); sockets never finish.
    virtual bool finished() const noexcept { return false; }
    /// For the operator: the kind of backend, and what the system granted.
    virtual std::string describe() const = 0;
    /// For the operator, any thread: why datagrams no longer arrive; empty: the backend works.
    virtual std::string trouble() const { return {}; }
};

}  // namespace anello::receive
