// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conformance/receive/backend_conformance.hpp"
#include "unit/receive/udp_sender.hpp"

namespace anello::receive::conformance {

/// Sends each datagram alone, or (GRO) runs of equal size as super-packets, which a loopback carries whole.
template <typename SocketLike, bool gro, bool ip6 = false>
class SocketCarrier {
  public:
    static std::string reason_to_skip() { return ip6 ? no_ip6_because() : ""; }

    explicit SocketCarrier(std::uint16_t n_streams)
        : backend_({.address = address,
                    .ports = std::vector<std::uint16_t>(n_streams, 0),
                    .gro = gro,
                    .receive_buffer_bytes = 4 << 20}) {
        for (std::uint16_t i = 0; i < n_streams; ++i) senders_.emplace_back(backend_.port(i), address);
        runs_.resize(n_streams);
    }
    void send(std::uint16_t stream, std::span<const std::byte> datagram) {
        Run& run = runs_[stream];
        const bool joins = gro && !run.datagrams.empty() && datagram.size() == run.segment_bytes &&
                           run.datagrams.size() / run.segment_bytes < 40 && run.segment_bytes <= (ip6 ? 1452 : 1472);
        if (!joins) flush(stream);
        run.datagrams.insert(run.datagrams.end(), datagram.begin(), datagram.end());
        run.segment_bytes = datagram.size();
        run.waiting = true;
        if (!gro) flush(stream);
    }
    SourceAddress source(std::uint16_t stream) const { return senders_[stream].source(); }
    Backend& backend() {
        for (std::uint16_t i = 0; i < runs_.size(); ++i) flush(i);
        return backend_;
    }

  private:
    static constexpr const char* address = ip6 ? "::1" : "127.0.0.1";
    static std::string no_ip6_because() {
        try {
            UdpSocket({.address = "::1", .receive_buffer_bytes = 4096});
            return "";
        } catch (const std::exception& error) {
            return error.what();
        }
    }
    struct Run {
        Bytes datagrams;
        std::size_t segment_bytes = 0;
        bool waiting = false;
    };
    void flush(std::uint16_t stream) {
        Run& run = runs_[stream];
        if (run.waiting && run.datagrams.size() > run.segment_bytes)
            senders_[stream].send_super_packet(run.datagrams, static_cast<std::uint16_t>(run.segment_bytes));
        else if (run.waiting)
            senders_[stream].send(run.datagrams);
        run = {};
    }

    SocketLike backend_;
    std::vector<test::UdpSender> senders_;
    std::vector<Run> runs_;
};

}  // namespace anello::receive::conformance
