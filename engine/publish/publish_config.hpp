// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.hpp"

namespace anello::publish {

enum class PublishTo : std::uint8_t { nothing, stream, zmq_push, zmq_pub };
PublishTo parse_publish_to(const std::string& text);  ///< Throws ConfigError.
const char* name_of(PublishTo to) noexcept;

/// What is done when a subscriber has no room, or nobody is there: wait, so that the stages before wait too; or drop.
enum class WhenFull : std::uint8_t { wait, drop };
WhenFull parse_when_full(const std::string& text);  ///< Throws ConfigError.

struct PublishConfig {
    PublishTo to = PublishTo::nothing;
    std::string block = "publish";  ///< of counters: a node may publish at two places of its way
    std::string address;            ///< stream: a path, or @ and a name; ZeroMQ: an endpoint to bind, tcp:// or ipc://
    WhenFull when_full = WhenFull::drop;
    std::uint32_t max_subscribers = 8;
    std::vector<uid_t> allow_users{};  ///< stream: who may subscribe besides our own user and root
    std::uint32_t n_buffers = 64;      ///< ZeroMQ: records on their way, over all subscribers
    Nanoseconds end_timeout_ns =
        1'000'000'000;  ///< ZeroMQ: records still unsent this long after the last one are given up

    bool is_on() const noexcept { return to != PublishTo::nothing; }
    /// Throws ConfigError.
    void validate() const;
};

}  // namespace anello::publish
