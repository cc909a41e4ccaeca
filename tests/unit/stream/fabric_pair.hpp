// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <future>
#include <memory>
#include <string>

#include "unit/stream/shared_pair.hpp"

namespace anello::stream::test {

/// Both sides of a stream over a transport of the fabric, in one process.
struct FabricPair {
    FabricPair(const std::string& scheme, const StreamConfig& near_config, const StreamConfig& far_config)
        : near_counters(page.add_block<StreamCounter>("near")), far_counters(page.add_block<StreamCounter>("far")) {
        Listener listener(scheme + "://127.0.0.1:0", far_config, page.add_block<ListenerCounter>("listener"));
        auto accepted = std::async(std::launch::async, [&] { return listener.accept(far_counters, patience_ns); });
        near = connect(listener.address(), near_config, near_counters);
        far = accepted.get();
    }

    /// Acts as if the far process had died; returns when the near side can know it.
    void kill_far() {
        const int space = near->space_descriptor();
        far->abandon();
        far.reset();
        pollfd watched{space, POLLIN, 0};
        poll(&watched, 1, anello::test::patience_ms);
    }

    CounterPage page;
    Counters<StreamCounter> near_counters, far_counters;
    std::unique_ptr<Stream> near, far;
};

}  // namespace anello::stream::test
