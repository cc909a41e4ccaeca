// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "core/clock.hpp"
#include "receive/datagrams/source_address.hpp"

namespace anello::receive {

/// How a multicast group is joined, where the address to listen on is one.
struct GroupConfig {
    std::string interface = {};  ///< that its datagrams come by; empty: by the system's routes
    std::string source = {};     ///< the one host to hear (SSM: IGMPv3, MLDv2); empty: any (ASM)
};

struct UdpSocketConfig {
    /// IP address to listen on; of a multicast group: it is joined. "::" takes what comes over IPv4, too.
    std::string address = "0.0.0.0";
    GroupConfig group = {};
    std::uint16_t port = 0;  ///< 0: the system chooses
    bool gro = true;         ///< ask for super-packets (UDP_GRO)
    std::size_t receive_buffer_bytes = std::size_t{64} << 20;
    /// Receive stamps, and drops told with each message. PERF NOTE: some 60 ns per message (camera_receive); without
    /// them drops are still known by n_dropped().
    bool notes = true;
    std::uint32_t busy_poll_us = 0;  ///< whoever looks for datagrams asks the card's queue itself, so long; 0: never
};

/// What the control messages of one received message say.
struct ReceiveNotes {
    std::uint32_t segment_bytes =
        0;                      ///< the super-packet's datagrams are this long, the last one may be shorter; 0: one
    Nanoseconds kernel_ns = 0;  ///< kernel's receive stamp, 0 = none
};

/// Room for the address that a message came from, of either family.
union alignas(8) SocketAddress {  // so that in io_uring's slots what follows it is aligned
    sockaddr_in6 ip6{};
    sockaddr_in ip4;

    sa_family_t family() const noexcept { return ip6.sin6_family; }  // which begins both
    socklen_t length() const noexcept { return family() == AF_INET6 ? sizeof ip6 : sizeof ip4; }
    bool is_group() const noexcept;
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(this); }
    sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(this); }
};

/// Of an address in text, IPv4 or IPv6; family() is AF_UNSPEC where it is none.
SocketAddress parse_address(const std::string& text, std::uint16_t port = 0);

inline SourceAddress source_of(const SocketAddress& address) noexcept {
    if (address.family() != AF_INET6) return {ntohl(address.ip4.sin_addr.s_addr), ntohs(address.ip4.sin_port)};
    Ip6Bytes host;
    std::memcpy(host.data(), &address.ip6.sin6_addr, host.size());
    return SourceAddress::of_ip6(host, ntohs(address.ip6.sin6_port));
}

/// One non-blocking, bound UDP socket that reports drops and receive stamps with each message.
class UdpSocket {
  public:
    static constexpr std::size_t control_bytes = 192;  ///< room for every control message that is asked for

    explicit UdpSocket(const UdpSocketConfig& config);  ///< Throws ConfigError, SystemError.
    ~UdpSocket();
    UdpSocket(UdpSocket&& other) noexcept;
    UdpSocket& operator=(UdpSocket&&) = delete;

    int descriptor() const noexcept { return descriptor_; }
    std::uint16_t port() const noexcept { return port_; }
    bool has_gro() const noexcept { return has_gro_; }
    /// As the system counts it, which includes its own overhead per datagram.
    std::size_t receive_buffer_bytes() const noexcept { return receive_buffer_bytes_; }
    /// Why the system does not let us poll its queues (errno); 0: it does, or was not asked.
    int busy_poll_error() const noexcept { return busy_poll_error_; }
    /// The queue that the last datagram came through, as the system numbers it; 0: one that cannot be polled, or none
    /// came so far.
    unsigned queue() const noexcept;

    /// Hot path, both: no allocation, no lock, no log, no throw.
    /// Fills messages from the front; returns how many. Errors other than "nothing there" are counted.
    std::size_t receive(std::span<mmsghdr> messages) noexcept;
    ReceiveNotes read_notes(msghdr& message) noexcept;

    /// Asks the system; also counts what was dropped after the last message that came through.
    std::uint64_t n_dropped() const noexcept;
    std::uint64_t n_errors() const noexcept { return n_errors_; }
    int last_error() const noexcept { return last_error_; }

  private:
    void bind_to(const UdpSocketConfig& config);
    void join(const SocketAddress& group, const UdpSocketConfig& config);
    void grow_receive_buffer(std::size_t bytes);
    void ask_for_notes(const UdpSocketConfig& config);
    void note_dropped(std::uint32_t system_count) noexcept;

    int descriptor_ = -1;
    std::uint16_t port_ = 0;
    bool has_gro_ = false;
    int last_error_ = 0, busy_poll_error_ = 0;
    std::size_t receive_buffer_bytes_ = 0;
    std::uint64_t n_dropped_ = 0;  ///< told by messages; the system's own counter has 32 bits
    std::uint32_t last_system_count_ = 0;
    std::uint64_t n_errors_ = 0;
};

}  // namespace anello::receive
