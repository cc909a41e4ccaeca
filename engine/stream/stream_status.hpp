// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace anello::stream {

/// How a step on the data path ended.
enum class StreamStatus : std::uint8_t {
    ok,
    would_block,  ///< nothing there, or no room, and no time to wait was given
    timeout,      ///< the deadline came; what was moved until then is counted in the result
    closed,       ///< end of stream, and all before it was taken; or the other side takes no more
    peer_died,    ///< the other side has gone without an end of stream; what it had published was taken
    too_large,    ///< can never fit into the ring
    corrupt,      ///< the other side broke the protocol: the stream is dead, nothing of it is read any more
};

const char* name_of(StreamStatus status) noexcept;

/// A transfer may move bytes and still end otherwise than ok.
struct Transfer {
    StreamStatus status = StreamStatus::ok;
    std::size_t n_bytes = 0;
};

}  // namespace anello::stream
