// SPDX-License-Identifier: Apache-2.0
#include "conformance/fabric/fabric_conformance.hpp"
#include "fabric/faulty_fabric.hpp"

namespace anello::fabric::conformance {
namespace {

/// With faults that never come true it must be what it wraps. A page of its own for each would be gone too early.
struct Faultless {
    static FabricConfig config() {
        FabricConfig config;
        config.transport = Transport::in_process;
        config.max_message_bytes = 200'000;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        static CounterPage page;
        static const Counters<FaultCounter> fault_counters = page.add_block<FaultCounter>("faults");
        FaultConfig faults;
        faults.disconnect_after = UINT64_MAX;
        return make_fabric(config, faults, listener, clock, counters, fault_counters);
    }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Faultless, FabricConformance, Faultless);
INSTANTIATE_TYPED_TEST_SUITE_P(Faultless, FabricWaiting, Faultless);

}  // namespace
}  // namespace anello::fabric::conformance
