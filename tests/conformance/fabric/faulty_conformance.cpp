// SPDX-License-Identifier: Apache-2.0
#include "conformance/fabric/fabric_conformance.hpp"
#include "fabrics/faulty_fabric.hpp"
#include "fabrics/in_process_fabric.hpp"

namespace anello::fabric::conformance {
namespace {

/// With faults of probability 0 it must behave like the fabric that it wraps.
struct Faultless {
    static FabricConfig config() {
        FabricConfig config;
        config.max_message_bytes = 200'000;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        return with_faults({.disconnect_after = UINT64_MAX}, make_in_process_fabric)(config, listener, clock, counters);
    }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Faultless, FabricConformance, Faultless);
INSTANTIATE_TYPED_TEST_SUITE_P(Faultless, FabricWaiting, Faultless);

}  // namespace
}  // namespace anello::fabric::conformance
