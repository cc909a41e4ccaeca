// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>

#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "fabric/ucx/ucx_sockets.hpp"

namespace anello::fabric {

/// Watches UCX's listening TCP sockets. UCX 1.13 keeps every connection for as long as the other side wants, so that
/// strangers could use up our descriptors. Here the kernel holds silent connections back; those that send too little
/// for UCX to answer are closed after a second, or sooner if there are many.
class UcxConnectionLimiter {
  public:
    static constexpr Nanoseconds patience_ns = 1'000'000'000;
    static constexpr std::size_t max_unanswered = 32;

    explicit UcxConnectionLimiter(std::vector<SocketName> listening);

    const std::vector<SocketName>& listening() const noexcept { return listening_; }
    /// Call it periodically. Returns the number of closed connections. No allocation, no throw.
    unsigned close_strangers(Nanoseconds now_ns) noexcept;

  private:
    struct Unanswered {
        SocketName from;
        Nanoseconds since_ns;
        bool still_there;
    };
    bool must_close(const SocketName& from, Nanoseconds now_ns) noexcept;

    const std::vector<SocketName> listening_;
    std::vector<Unanswered> unanswered_;
    std::unique_ptr<DIR, int (*)(DIR*)> descriptors_;
};

}  // namespace anello::fabric
