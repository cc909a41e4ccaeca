// SPDX-License-Identifier: Apache-2.0
#include "conformance/fabric/fabric_conformance.hpp"
#include "fabrics/in_process_fabric.hpp"

namespace anello::fabric::conformance::in_process_conformance {
namespace {

struct InProcess {
    static FabricConfig config() {
        FabricConfig config;
        config.max_message_bytes = 200'000;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        return make_in_process_fabric(config, listener, clock, counters);
    }
};
INSTANTIATE_TYPED_TEST_SUITE_P(InProcess, FabricConformance, InProcess);
INSTANTIATE_TYPED_TEST_SUITE_P(InProcess, FabricWaiting, InProcess);

}  // namespace
}  // namespace anello::fabric::conformance::in_process_conformance
