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

/// What happens if a subscriber has no room, or there is none: wait lets the stages before wait, drop loses the record.
enum class WhenFull : std::uint8_t { wait, drop };

struct PublishConfig {
    // publish_keys explains those without a comment.
    PublishTo to = PublishTo::nothing;
    std::string block = "publish";  ///< name of the counter block: a node may publish at two places
    std::string address;
    WhenFull when_full = WhenFull::drop;
    std::uint32_t max_subscribers = 8;
    std::vector<uid_t> allow_users{};
    std::uint32_t n_buffers = 64;
    // ZeroMQ only:
    Nanoseconds end_timeout_ns = 1'000'000'000;  ///< unsent records are given up this long after the last one
    /// When the publisher closes the connection, a subscriber with a full queue may never read what is still in the
    /// kernel, because libzmq then gives the connection up. Subscribers that have received the end usually close first,
    /// and then this time is not spent.
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
