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

/// How to join a multicast group, if the address to listen on is one.
struct GroupConfig {
    std::string interface = {};  ///< interface of its datagrams; empty: by the system's routes
    std::string source = {};     ///< the only accepted sender (SSM: IGMPv3, MLDv2); empty: any (ASM)
};

struct UdpSocketConfig {
    /// IP address to listen on; a multicast group is joined. "::" accepts IPv4, too.
    std::string address = "0.0.0.0";
    GroupConfig group = {};
    std::uint16_t port = 0;  ///< 0: the system chooses
    bool gro = true;         ///< request super-packets (UDP_GRO)
    std::size_t receive_buffer_bytes = std::size_t{64} << 20;
    /// Receive stamps, and the number of drops with each message. PERF NOTE: some 60 ns per message (camera_receive);
    /// without them n_dropped() still counts drops.
    bool notes = true;
    std::uint32_t busy_poll_us = 0;  ///< calls that look for datagrams poll the card's queue for this time; 0: never
};

/// The control messages of one received message.
struct ReceiveNotes {
    std::uint32_t segment_bytes =
        0;  ///< length of the super-packet's datagrams, the last one may be shorter; 0: a single datagram
    Nanoseconds kernel_ns = 0;  ///< kernel's receive stamp, 0 = none
};

/// The address of a message's sender, of either family.
union alignas(8) SocketAddress {  // aligned for the data that follows it in io_uring's slots
    sockaddr_in6 ip6{};
    sockaddr_in ip4;

    sa_family_t family() const noexcept { return ip6.sin6_family; }  // the first member of both
    socklen_t length() const noexcept { return family() == AF_INET6 ? sizeof ip6 : sizeof ip4; }
    bool is_group() const noexcept;
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(this); }
    sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(this); }
};

/// Parses an IPv4 or IPv6 address; family() is AF_UNSPEC if the text is neither.
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
    static constexpr std::size_t control_bytes = 192;  ///< room for all requested control messages

    explicit UdpSocket(const UdpSocketConfig& config);  ///< Throws ConfigError, SystemError.
    ~UdpSocket();
    UdpSocket(UdpSocket&& other) noexcept;
    UdpSocket& operator=(UdpSocket&&) = delete;

    int descriptor() const noexcept { return descriptor_; }
    std::uint16_t port() const noexcept { return port_; }
    bool has_gro() const noexcept { return has_gro_; }
    /// The size that the system reports, which includes its overhead per datagram.
    std::size_t receive_buffer_bytes() const noexcept { return receive_buffer_bytes_; }
    /// Error (errno) with which the system refused to poll its queues; 0: it does, or was not asked.
    int busy_poll_error() const noexcept { return busy_poll_error_; }
    /// The queue of the last datagram, in the system's numbering; 0: it cannot be polled, or there was no datagram.
    unsigned queue() const noexcept;

    /// Hot path, both: no allocation, no lock, no log, no throw. Fills messages from the front; returns their number.
    /// Errors other than "no message" are counted.
    std::size_t receive(std::span<mmsghdr> messages) noexcept;
    ReceiveNotes read_notes(msghdr& message) noexcept;

    /// Asks the system; includes drops after the last received message.
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
    std::uint64_t n_dropped_ = 0;  ///< from the notes of messages; the system's own counter has 32 bits
    std::uint32_t last_system_count_ = 0;
    std::uint64_t n_errors_ = 0;
};

}  // namespace anello::receive
