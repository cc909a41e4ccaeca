// SPDX-License-Identifier: Apache-2.0
#include "conformance/receive/backend_conformance.hpp"
#include "conformance/receive/socket_carrier.hpp"
#include "receive/nanet/nanet_backend.hpp"
#include "unit/receive/capture_writer.hpp"
#include "unit/receive/nanet_library.hpp"

namespace anello::receive::conformance {
namespace {

class NanetOverUdp final : public NanetBackend {
  public:
    explicit NanetOverUdp(const SocketBackendConfig& config)
        : NanetBackend({.library = test::nanet_library()}, std::make_unique<UdpNanetFrames>(config), nullptr) {}
};

template <bool gro>
class UdpCarrier : public SocketCarrier<NanetOverUdp, gro> {
  public:
    using SocketCarrier<NanetOverUdp, gro>::SocketCarrier;
    static std::string reason_to_skip() { return test::reason_without_nanet(); }
};

/// Frames with right checksums: the card looks at them.
class CaptureCarrier {
  public:
    static constexpr bool never_waits = true;
    static std::string reason_to_skip() { return test::reason_without_nanet(); }
    explicit CaptureCarrier(std::uint16_t n_streams) {
        for (std::uint16_t i = 0; i < n_streams; ++i) ports_.push_back(static_cast<std::uint16_t>(6000 + i));
    }
    void send(std::uint16_t stream, std::span<const std::byte> datagram) {
        const UdpRoute route{{2, 1}, {2, 2}, test::captured_source, {0x0a000001, ports_[stream]}};
        std::vector<std::byte> frame(std::max(udp_header_bytes + datagram.size(), shortest_frame_bytes));
        write_udp_frame(route, datagram, frame);
        capture_.add(frame);
    }
    static SourceAddress source(std::uint16_t) { return test::captured_source; }
    Backend& backend() {
        backend_ = std::make_unique<NanetBackend>(
            NanetBackendConfig{.library = test::nanet_library()},
            std::make_unique<CaptureNanetFrames>(capture_.finish(), ports_, 0, SystemClock::instance()), nullptr);
        return *backend_;
    }

  private:
    std::vector<std::uint16_t> ports_;
    test::CaptureWriter capture_;
    std::unique_ptr<NanetBackend> backend_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(NanetUdp, BackendConformance, UdpCarrier<false>);
INSTANTIATE_TYPED_TEST_SUITE_P(NanetUdpWithGro, BackendConformance, UdpCarrier<true>);
INSTANTIATE_TYPED_TEST_SUITE_P(NanetCapture, BackendConformance, CaptureCarrier);

}  // namespace
}  // namespace anello::receive::conformance
