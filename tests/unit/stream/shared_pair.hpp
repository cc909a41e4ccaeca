// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "patience.hpp"
#include "stream/stream.hpp"

namespace anello::stream::test {

using anello::test::patience_ns;

inline StreamConfig small_config(Direction direction = Direction::both) {
    StreamConfig config;
    config.ring_bytes = smallest_ring_bytes;
    config.grain_bytes = 4096;
    config.wait = WaitMode::block;
    config.direction = direction;
    config.connect_ns = config.handshake_ns = patience_ns;
    return config;
}

/// A name that no other test has.
inline std::string unused_address() {
    static std::atomic<int> n_used{0};
    return "@anello-test-" + std::to_string(getpid()) + "-" + std::to_string(n_used++);
}

inline std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t n_bytes) {
    std::vector<std::byte> bytes(n_bytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

/// A listener with counters of its own.
struct Listening {
    explicit Listening(const StreamConfig& config)
        : counters(page.add_block<ListenerCounter>("listener")), listener(unused_address(), config, counters) {}

    CounterPage page;
    Counters<ListenerCounter> counters;
    Listener listener;
};

/// Both sides of a stream over shared memory, in one process.
struct SharedPair {
    explicit SharedPair(const StreamConfig& near_config = small_config(),
                        const StreamConfig& far_config = small_config())
        : near_counters(page.add_block<StreamCounter>("near")), far_counters(page.add_block<StreamCounter>("far")) {
        Listening listening(far_config);
        auto accepted = std::async(std::launch::async, [&] { return listening.listener.accept(far_counters); });
        near = connect(listening.listener.address(), near_config, near_counters);
        far = accepted.get();
    }

    CounterPage page;
    Counters<StreamCounter> near_counters, far_counters;
    std::unique_ptr<Stream> near, far;
};

}  // namespace anello::stream::test
