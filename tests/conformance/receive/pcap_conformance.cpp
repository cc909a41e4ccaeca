// SPDX-License-Identifier: Apache-2.0
#include "conformance/receive/backend_conformance.hpp"
#include "receive/frames/pcap_backend.hpp"
#include "unit/receive/capture_writer.hpp"

namespace anello::receive::conformance {
namespace {

constexpr std::uint16_t first_port = 6000;

class PcapCarrier {
  public:
    static constexpr bool never_waits = true;
    explicit PcapCarrier(std::uint16_t n_streams) {
        for (std::uint16_t i = 0; i < n_streams; ++i) ports_.push_back(static_cast<std::uint16_t>(first_port + i));
    }
    void send(std::uint16_t stream, std::span<const std::byte> datagram) {
        capture_.add(test::udp_frame(ports_[stream], datagram));
    }
    static SourceAddress source(std::uint16_t) { return test::captured_source; }
    Backend& backend() {
        backend_ = std::make_unique<PcapBackend>(
            PcapBackendConfig{.path = capture_.finish(), .ports = ports_, .speed = 0.0}, SystemClock::instance());
        return *backend_;
    }

  private:
    std::vector<std::uint16_t> ports_;
    test::CaptureWriter capture_;
    std::unique_ptr<PcapBackend> backend_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Pcap, BackendConformance, PcapCarrier);

}  // namespace
}  // namespace anello::receive::conformance
