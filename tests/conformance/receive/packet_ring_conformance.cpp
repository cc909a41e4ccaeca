// SPDX-License-Identifier: Apache-2.0
#include "conformance/receive/socket_carrier.hpp"
#include "receive/frames/packet_ring_backend.hpp"
#include "unit/receive/udp_sender.hpp"
#include "unit/receive/veth_pair.hpp"

namespace anello::receive::conformance {
namespace {

/// From another namespace. A longer datagram would come in fragments.
class PacketRingCarrier {
  public:
    static constexpr std::size_t largest_datagram_bytes = test::VethPair::largest_datagram_bytes;
    static std::string reason_to_skip() { return test::VethPair::reason_to_skip(); }

    explicit PacketRingCarrier(std::uint16_t n_streams)
        : backend_({.interface = test::VethPair::receiver_interface,
                    .ports = std::vector<std::uint16_t>(n_streams, 0),
                    .receive_buffer_bytes = 4 << 20}) {
        for (std::uint16_t i = 0; i < n_streams; ++i)
            senders_.push_back(
                veth_.at_sender([&] { return test::UdpSender(backend_.port(i), test::VethPair::receiver_address); }));
    }
    void send(std::uint16_t stream, std::span<const std::byte> datagram) { senders_[stream].send(datagram); }
    SourceAddress source(std::uint16_t stream) const { return senders_[stream].source(); }
    Backend& backend() { return backend_; }

  private:
    test::VethPair veth_;
    PacketRingBackend backend_;
    std::vector<test::UdpSender> senders_;
};

/// On the loopback, where super-packets pass whole.
struct LoopbackCarrier : SocketCarrier<PacketRingBackend, true> {
    using SocketCarrier::SocketCarrier;
    static std::string reason_to_skip() { return test::VethPair::reason_to_skip(); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(PacketRing, BackendConformance, PacketRingCarrier);
INSTANTIATE_TYPED_TEST_SUITE_P(PacketRingWithGro, BackendConformance, LoopbackCarrier);

}  // namespace
}  // namespace anello::receive::conformance
