// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace anello::rich {

/// What became of the first datagrams offered: n_taken went out; `error` (errno) says why the next one did not, 0 when
/// all did.
struct SendResult {
    std::size_t n_taken = 0;
    int error = 0;
};

/// Where frames go. Called by the emitter's thread for many datagrams at once.
class DatagramSink {
  public:
    virtual ~DatagramSink() = default;
    virtual SendResult send(std::span<const std::span<const std::byte>> datagrams) noexcept = 0;
    /// errno reported by the far end since the last call, 0 for none.
    virtual int take_far_error() noexcept { return 0; }
};

}  // namespace anello::rich
