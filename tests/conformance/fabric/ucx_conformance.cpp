// SPDX-License-Identifier: Apache-2.0
#ifdef ANELLO_UCX
#include "conformance/fabric/fabric_conformance.hpp"

namespace anello::fabric::conformance::ucx_conformance {
namespace {

struct Ucx {
    static FabricConfig config(const char* tls) {
        FabricConfig config;
        config.transport = Transport::ucx;
        config.max_message_bytes = 200'000;
        config.ucx_tls = tls;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        return make_fabric(config, listener, clock, counters);
    }
};
struct UcxTcp : Ucx {
    static FabricConfig config() { return Ucx::config("tcp"); }
};
struct UcxSharedMemory : Ucx {
    static FabricConfig config() { return Ucx::config("shm,self"); }
};
/// The transport that UCX takes by itself.
struct UcxFree : Ucx {
    static FabricConfig config() { return Ucx::config(""); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(UcxTcp, FabricConformance, UcxTcp);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxTcp, FabricWaiting, UcxTcp);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxTcp, FabricLiveness, UcxTcp);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxSharedMemory, FabricConformance, UcxSharedMemory);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxSharedMemory, FabricWaiting, UcxSharedMemory);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxSharedMemory, FabricLiveness, UcxSharedMemory);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxFree, FabricConformance, UcxFree);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxFree, FabricWaiting, UcxFree);

}  // namespace
}  // namespace anello::fabric::conformance::ucx_conformance
#endif
