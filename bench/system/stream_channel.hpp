// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stream/stream_config.hpp"

namespace anello::bench {

struct ChannelConfig {
    std::string transport;
    std::size_t chunk_bytes = 0;
    stream::StreamConfig stream;
};

/// How often each side of a ring found it full or empty, and slept.
struct RingWaits {
    std::uint64_t n_full = 0, n_empty = 0, n_sleeps = 0;
};

/// One way for bytes to get from one process to another. Made before fork(); then each process opens its side.
class Channel {
  public:
    virtual ~Channel() = default;
    virtual void open_sender() {}
    virtual void open_receiver() {}
    virtual void send(std::span<const std::byte> chunk) = 0;
    virtual void receive(std::span<std::byte> chunk) = 0;  ///< All of it.
    virtual void flush() {}                                ///< Everything sent is on its way.
    /// The next two are for ping-pong, where bytes go both ways.
    virtual void answer(std::span<const std::byte> chunk) = 0;
    virtual void await_answer(std::span<std::byte> chunk) = 0;
    virtual RingWaits waits() const { return {}; }  ///< Of this side.
};

std::unique_ptr<Channel> make_channel(const ChannelConfig& config);  ///< Null: unknown, or not in this build.
std::vector<std::string> transports();

}  // namespace anello::bench
