// SPDX-License-Identifier: Apache-2.0
#include "conformance/receive/backend_conformance.hpp"
#include "receive/xdp/xdp_backend.hpp"
#include "unit/receive/udp_sender.hpp"
#include "unit/receive/veth_pair.hpp"

namespace anello::receive::conformance {
namespace {

template <XdpMode mode>
class XdpCarrier {
  public:
    static constexpr std::size_t largest_datagram_bytes = test::VethPair::largest_datagram_bytes;
    static std::string reason_to_skip() { return test::VethPair::reason_to_skip(); }

    explicit XdpCarrier(std::uint16_t n_streams)
        : backend_({.interface = test::VethPair::receiver_interface,
                    .ports = std::vector<std::uint16_t>(n_streams, 0),
                    .best_mode = mode,
                    .slots_per_queue = 2048}) {
        EXPECT_EQ(backend_.mode(), mode) << backend_.describe();
        for (std::uint16_t i = 0; i < n_streams; ++i)
            senders_.push_back(
                veth_.at_sender([&] { return test::UdpSender(backend_.port(i), test::VethPair::receiver_address); }));
    }
    void send(std::uint16_t stream, std::span<const std::byte> datagram) { senders_[stream].send(datagram); }
    SourceAddress source(std::uint16_t stream) const { return senders_[stream].source(); }
    Backend& backend() { return backend_; }

  private:
    test::VethPair veth_;
    XdpBackend backend_;
    std::vector<test::UdpSender> senders_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(XdpNative, BackendConformance, XdpCarrier<XdpMode::native>);
INSTANTIATE_TYPED_TEST_SUITE_P(XdpGeneric, BackendConformance, XdpCarrier<XdpMode::generic>);

}  // namespace
}  // namespace anello::receive::conformance
