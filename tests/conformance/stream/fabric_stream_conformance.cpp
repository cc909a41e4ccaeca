// SPDX-License-Identifier: Apache-2.0
#include "conformance/stream/stream_conformance.hpp"
#include "fabrics/faulty_fabric.hpp"
#include "fabrics/in_process_fabric.hpp"
#include "unit/stream/fabric_pair.hpp"

namespace anello::stream::conformance {
namespace {

struct InProcess {
    static constexpr const char* scheme = "tcp";  // the sides meet there
    static void configure(StreamConfig& config) { config.make_fabric = fabric::make_in_process_fabric; }
};
struct Tcp {
    static constexpr const char* scheme = "tcp";
    static void configure(StreamConfig&) {}
};
struct TcpPuts {
    static constexpr const char* scheme = "tcp";
    static void configure(StreamConfig& config) { config.carry = Carry::put; }
};
/// Every piece leaves up to 0.2 ms late.
struct DelayedTcp {
    static constexpr const char* scheme = "tcp";
    static void configure(StreamConfig& config) { config.make_fabric = fabric::with_faults({.delay_ns = 200'000}); }
};
#ifdef ANELLO_UCX
struct UcxTcp {
    static constexpr const char* scheme = "ucx";
    static void configure(StreamConfig& config) { config.ucx_tls = "tcp"; }
};
struct UcxTcpPuts {
    static constexpr const char* scheme = "ucx";
    static void configure(StreamConfig& config) {
        config.ucx_tls = "tcp";
        config.carry = Carry::put;
    }
};
#endif

template <typename Way>
struct FabricCarrier {
    FabricCarrier(const StreamConfig& near_config, const StreamConfig& far_config)
        : pair(Way::scheme, configured(near_config), configured(far_config)),
          near_counters(pair.near_counters),
          far_counters(pair.far_counters) {}

    static StreamConfig configured(StreamConfig config) {
        Way::configure(config);
        return config;
    }
    Stream& near() { return *pair.near; }
    Stream& far() { return *pair.far; }
    void kill_far() { pair.kill_far(); }

    test::FabricPair pair;
    Counters<StreamCounter> near_counters, far_counters;
};

INSTANTIATE_TYPED_TEST_SUITE_P(InProcess, StreamConformance, FabricCarrier<InProcess>);
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, StreamConformance, FabricCarrier<Tcp>);
INSTANTIATE_TYPED_TEST_SUITE_P(TcpPuts, StreamConformance, FabricCarrier<TcpPuts>);
INSTANTIATE_TYPED_TEST_SUITE_P(DelayedTcp, StreamConformance, FabricCarrier<DelayedTcp>);
#ifdef ANELLO_UCX
INSTANTIATE_TYPED_TEST_SUITE_P(UcxTcp, StreamConformance, FabricCarrier<UcxTcp>);
INSTANTIATE_TYPED_TEST_SUITE_P(UcxTcpPuts, StreamConformance, FabricCarrier<UcxTcpPuts>);
#endif

}  // namespace
}  // namespace anello::stream::conformance
