// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/words.hpp"

namespace anello::publish {

enum class PublishTo : std::uint8_t { nothing, stream, zmq_push, zmq_pub };

/// What is done when a subscriber has no room, or nobody is there: wait, so that the stages before wait too; or drop.
enum class WhenFull : std::uint8_t { wait, drop };

struct PublishConfig {
    // publish_keys says what those mean that have no comment.
    PublishTo to = PublishTo::nothing;
    std::string block = "publish";  ///< of counters: a node may publish at two places of its way
    std::string address;
    WhenFull when_full = WhenFull::drop;
    std::uint32_t max_subscribers = 8;
    std::vector<uid_t> allow_users{};
    std::uint32_t n_buffers = 64;
    // ZeroMQ only:
    Nanoseconds end_timeout_ns = 1'000'000'000;  ///< records still unsent this long after the last one are given up
    /// A subscriber whose queue is full does not read what lies in the kernel once we have hung up: libzmq gives the
    /// connection up then. A subscriber that has the end usually hangs up first, and then nobody waits.
    Nanoseconds read_timeout_ns = 500'000'000;

    bool is_on() const noexcept { return to != PublishTo::nothing; }
    /// Throws ConfigError.
    void validate() const;
};

extern const Keys<PublishConfig> publish_keys;

}  // namespace anello::publish

namespace anello {

template <>
inline constexpr std::array<const char*, 4> words_of<publish::PublishTo>{"nothing", "stream", "zmq_push", "zmq_pub"};
template <>
inline constexpr std::array<const char*, 2> words_of<publish::WhenFull>{"wait", "drop"};

}  // namespace anello
