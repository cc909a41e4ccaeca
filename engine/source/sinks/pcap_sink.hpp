// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "source/sinks/packet_sink.hpp"

struct pcap;
struct pcap_dumper;

namespace anello::source {

/// Writes datagrams as Ethernet frames with IPv4 and UDP headers into a pcap file with nanosecond stamps. Board b sends
/// from 10.0.0.1 + b port 50000 + b. The UDP checksum is left out (0), as hardware senders often do.
class PcapSink final : public PacketSink {
  public:
    /// Throws ConfigError, SystemError.
    PcapSink(const std::string& path, std::span<const BoardEndpoint> endpoints);

    void send(std::span<const OutgoingDatagram> datagrams, Nanoseconds now_ns, SendResult* results) noexcept override;
    /// Writes what is still in memory; returns false if the file could not take everything. The destructor also does
    /// it, without reporting an error.
    bool flush() noexcept;

    static constexpr std::size_t frame_header_bytes = 14 + 20 + 8;

  private:
    struct Closer {
        void operator()(pcap* handle) const noexcept;
        void operator()(pcap_dumper* dumper) const noexcept;
    };
    using FrameHeader = std::array<std::byte, frame_header_bytes>;
    static FrameHeader make_header(const BoardEndpoint& endpoint, const sockaddr_in& address);
    bool write_frame(const OutgoingDatagram& datagram, Nanoseconds now_ns) noexcept;

    std::vector<FrameHeader> headers_;  // by stream, lengths and checksum still 0
    std::vector<std::byte> frame_;
    std::unique_ptr<pcap, Closer> handle_;
    std::unique_ptr<pcap_dumper, Closer> dumper_;
};

}  // namespace anello::source
