// SPDX-License-Identifier: Apache-2.0
#include "conformance/fabric/fabric_conformance.hpp"

namespace anello::fabric::conformance::udp_conformance {
namespace {

struct Udp {
    static FabricConfig config() {
        FabricConfig config;
        config.transport = Transport::udp;
        config.max_message_bytes = 200'000;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        return make_fabric(config, listener, clock, counters);
    }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Udp, FabricConformance, Udp);
INSTANTIATE_TYPED_TEST_SUITE_P(Udp, FabricWaiting, Udp);
INSTANTIATE_TYPED_TEST_SUITE_P(Udp, FabricLiveness, Udp);

}  // namespace
}  // namespace anello::fabric::conformance::udp_conformance
