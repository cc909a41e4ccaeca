// SPDX-License-Identifier: Apache-2.0
#include "conformance/fabric/fabric_conformance.hpp"

namespace anello::fabric::conformance::tcp_conformance {
namespace {

struct Tcp {
    static FabricConfig config() {
        FabricConfig config;
        config.transport = Transport::tcp;
        config.max_message_bytes = 200'000;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        return make_fabric(config, listener, clock, counters);
    }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, FabricConformance, Tcp);
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, FabricWaiting, Tcp);
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, FabricLiveness, Tcp);

}  // namespace
}  // namespace anello::fabric::conformance::tcp_conformance
