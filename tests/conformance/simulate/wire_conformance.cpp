// SPDX-License-Identifier: Apache-2.0
#include "conformance/receive/backend_conformance.hpp"
#include "simulate/world/simulated_wire.hpp"

namespace anello::receive::conformance {
namespace {

class SimulatedCarrier {
  public:
    explicit SimulatedCarrier(std::uint16_t n_streams) {
        backend_ = wire_.make_backend({.ports = std::vector<std::uint16_t>(n_streams)});
    }
    void send(std::uint16_t stream, std::span<const std::byte> datagram) {
        const source::OutgoingDatagram one{.bytes = datagram, .stream = stream, .n_fragments = 1};
        source::SendResult result{};
        wire_.send({&one, 1}, world_.wall_ns(), &result);
        EXPECT_EQ(result, source::SendResult::sent);
    }
    static SourceAddress source(std::uint16_t stream) { return simulate::SimulatedWire::source_of(stream); }
    Backend& backend() {
        world_.run_until(world_.monotonic_ns() + 1'000'000);
        return *backend_;
    }

  private:
    simulate::World world_;
    simulate::SimulatedWire wire_{{.jitter_ns = 50'000}, world_};
    std::unique_ptr<Backend> backend_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, BackendConformance, SimulatedCarrier);

}  // namespace
}  // namespace anello::receive::conformance
