// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "conformance/fabric/fabric_conformance.hpp"
#include "simulate/world/simulated_fabric.hpp"

namespace anello::fabric::conformance {
namespace {

/// The network of the farm that a clock belongs to; it lives as long as one of its fabrics.
struct Net {
    simulate::World world;
    std::unique_ptr<simulate::Network> network;
};

struct OnNet {
    std::shared_ptr<Net> net;
};
/// Virtual time follows the farm's clock.
class Stepped final : OnNet, public simulate::SimulatedFabric {  // in this order: the network outlives its fabric
  public:
    Stepped(const FabricConfig& config, Listener& listener, const Clock& clock, Counters<FabricCounter> counters,
            std::shared_ptr<Net> on)
        : OnNet{std::move(on)}, SimulatedFabric(config, listener, *net->network, counters, [] {}), clock_(clock) {}

    std::size_t progress() noexcept override {
        net->world.run_until(clock_.monotonic_ns());
        return SimulatedFabric::progress();
    }

  private:
    const Clock& clock_;
};

template <simulate::DoneWhen done_when, bool is_reliable>
struct Simulated {
    static FabricConfig config() {
        FabricConfig config;
        config.max_message_bytes = 200'000;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        static std::map<const Clock*, std::weak_ptr<Net>> nets;
        std::shared_ptr<Net> net = nets[&clock].lock();
        if (!net) {
            nets[&clock] = net = std::make_shared<Net>();
            const simulate::NetworkConfig links{
                .n_nodes = config.n_peers, .done_when = done_when, .reliable = is_reliable};
            net->network = std::make_unique<simulate::Network>(links, net->world);
        }
        return std::make_unique<Stepped>(config, listener, clock, counters, std::move(net));
    }
};
using Copied = Simulated<simulate::DoneWhen::copied, true>;
using Arrived = Simulated<simulate::DoneWhen::arrived, true>;
using Lossy = Simulated<simulate::DoneWhen::copied, false>;
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FabricWaiting);  // it has no descriptor
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedCopied, FabricConformance, Copied);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedCopied, FabricLiveness, Copied);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedArrived, FabricConformance, Arrived);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedArrived, FabricLiveness, Arrived);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedLossy, FabricConformance, Lossy);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedLossy, FabricLiveness, Lossy);

}  // namespace
}  // namespace anello::fabric::conformance
