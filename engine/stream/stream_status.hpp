// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace anello::stream {

/// How a step on the data path ended.
enum class StreamStatus : std::uint8_t {
    ok,
    would_block,  ///< no data or no room, and no time to wait was given
    timeout,      ///< the deadline passed; the result counts the bytes moved before
    closed,       ///< end of stream, after all data was taken; or the other side takes no more
    peer_died,    ///< the other side died without an end of stream; its published data was taken
    too_large,    ///< can never fit into the ring
    corrupt,      ///< the other side violated the protocol: the stream ends, and nothing more of it is read
};

const char* name_of(StreamStatus status) noexcept;

/// A transfer may move bytes and yet end with another status than ok.
struct Transfer {
    StreamStatus status = StreamStatus::ok;
    std::size_t n_bytes = 0;
};

}  // namespace anello::stream
