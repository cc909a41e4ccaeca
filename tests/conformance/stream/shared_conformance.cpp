// SPDX-License-Identifier: Apache-2.0
#include "conformance/stream/stream_conformance.hpp"

namespace anello::stream::conformance {
namespace {

struct SharedCarrier {
    SharedCarrier(const StreamConfig& near_config, const StreamConfig& far_config)
        : pair(near_config, far_config), near_counters(pair.near_counters), far_counters(pair.far_counters) {}

    Stream& near() { return *pair.near; }
    Stream& far() { return *pair.far; }
    void kill_far() { pair.far->abandon(); }

    test::SharedPair pair;
    Counters<StreamCounter> near_counters, far_counters;
};

INSTANTIATE_TYPED_TEST_SUITE_P(SharedMemory, StreamConformance, SharedCarrier);

}  // namespace
}  // namespace anello::stream::conformance
