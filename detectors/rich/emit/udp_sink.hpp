// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

#include "core/clock.hpp"
#include "rich/emit/datagram_sink.hpp"

namespace anello::rich {

struct UdpSinkConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    bool gso = true;  ///< sends series of datagrams of equal length together (UDP_SEGMENT)
};

/// Sends datagrams to one address: series of equal length by segmentation offload, many series by one sendmmsg.
///
/// The socket is not connected, because on a connected one every second send fails when there is no listener. Instead
/// one datagram per second is sent through a connected socket, whose pending error shows whether there is a listener.
class UdpSink final : public DatagramSink {
  public:
    UdpSink(const UdpSinkConfig& config, const Clock& clock);  ///< Throws ConfigError, SystemError.
    ~UdpSink() override;
    UdpSink(const UdpSink&) = delete;
    UdpSink& operator=(const UdpSink&) = delete;

    /// Hot path: no allocation, no lock, no log, no throw.
    SendResult send(std::span<const std::span<const std::byte>> datagrams) noexcept override;
    int take_far_error() noexcept override;

  private:
    static constexpr std::size_t max_messages = 64;
    static constexpr std::size_t max_segments = 64;  // the kernel's UDP_MAX_SEGMENTS
    static constexpr Nanoseconds probe_every_ns = 1'000'000'000, look_every_ns = 100'000'000;

    struct Message {
        iovec bytes;
        alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> control;
        std::size_t n_datagrams;
    };

    std::size_t prepare(std::span<const std::span<const std::byte>> datagrams) noexcept;
    void prepare_one(std::size_t index, std::span<const std::span<const std::byte>> run) noexcept;
    bool probe(std::span<const std::byte> datagram) noexcept;

    sockaddr_in address_{};
    int descriptor_ = -1;
    int probe_descriptor_ = -1;
    bool has_gso_;
    Nanoseconds last_probe_ns_, last_look_ns_ = 0;
    const Clock& clock_;
    std::array<Message, max_messages> messages_{};
    std::array<mmsghdr, max_messages> headers_{};
};

}  // namespace anello::rich
