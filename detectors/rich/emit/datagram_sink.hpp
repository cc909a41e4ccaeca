// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace anello::rich {

/// Result of sending datagrams in order: the first n_taken were sent; `error` (errno) says why the next one was not, 0
/// if all were sent.
struct SendResult {
    std::size_t n_taken = 0;
    int error = 0;
};

/// Destination of the frames. The emitter's thread calls send() for many datagrams at once.
class DatagramSink {
  public:
    virtual ~DatagramSink() = default;
    virtual SendResult send(std::span<const std::span<const std::byte>> datagrams) noexcept = 0;
    /// The errno that the far end reported since the last call; 0: none.
    virtual int take_far_error() noexcept { return 0; }
};

}  // namespace anello::rich
