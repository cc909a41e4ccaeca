// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "source/sinks/packet_sink.hpp"

namespace anello::source {

Offload parse_offload(const std::string& text);  ///< Throws ConfigError.

/// The address of an endpoint, IPv4. Throws ConfigError when the host has none.
sockaddr_in resolve(const BoardEndpoint& endpoint);

/// Sends by sendmmsg from one socket. It uses IPv4 if the host has such an address, otherwise IPv6.
class UdpSink final : public PacketSink {
  public:
    /// Throws ConfigError, SystemError.
    UdpSink(std::span<const BoardEndpoint> endpoints, Offload offload = Offload::none);
    ~UdpSink() override;
    UdpSink(const UdpSink&) = delete;
    UdpSink& operator=(const UdpSink&) = delete;

    void send(std::span<const OutgoingDatagram> datagrams, Nanoseconds now_ns, SendResult* results) noexcept override;
    Offload offload() const noexcept { return offload_; }

  private:
    struct Group {
        std::uint32_t first, n_datagrams;  ///< in order_
    };
    struct alignas(cmsghdr) Control {
        std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
    };

    void add_destination(const sockaddr_storage& address);
    void map_to_one_family();
    void open_socket();
    std::uint32_t order_by_destination(std::span<const OutgoingDatagram> datagrams) noexcept;
    std::uint32_t make_groups(std::span<const OutgoingDatagram> datagrams) noexcept;
    bool joins(const Group& group, std::span<const OutgoingDatagram> datagrams, std::uint32_t next) const noexcept;
    void fill_message(std::uint32_t message, std::span<const OutgoingDatagram> datagrams) noexcept;
    void send_messages(std::uint32_t n_messages, SendResult* results) noexcept;
    void set_results(const Group& group, SendResult result, SendResult* results) const noexcept;

    Offload offload_;
    int socket_ = -1;
    std::vector<sockaddr_storage> addresses_;  // by stream, all of one family
    std::vector<std::uint32_t> destination_;   // by stream: which of the different addresses
    std::vector<std::uint32_t> place_;         // by destination: where its next datagram goes in order_
    std::array<std::uint32_t, max_batch> order_;
    std::array<Group, max_batch> groups_;
    std::array<iovec, max_batch> pieces_;
    std::array<mmsghdr, max_batch> messages_;
    std::array<Control, max_batch> controls_;
};

}  // namespace anello::source
