// SPDX-License-Identifier: Apache-2.0
#include "fabric/ucx/ucx_connection_limiter.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace anello::fabric {
namespace {

/// Whether UCX sent anything on this connection: it answers each greeting that it understands at once.
bool is_answered(int descriptor) noexcept {
    tcp_info info{};
    socklen_t n_bytes = sizeof info;
    return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &n_bytes) != 0 || info.tcpi_data_segs_out > 0;
}

}  // namespace

UcxConnectionLimiter::UcxConnectionLimiter(std::vector<SocketName> listening)
    : listening_(std::move(listening)),
      descriptors_(listening_.empty() ? nullptr : opendir("/proc/self/fd"), &closedir) {
    unanswered_.reserve(max_unanswered);
    ucx_sockets::keep_silent_out(listening_);
}

unsigned UcxConnectionLimiter::close_strangers(Nanoseconds now_ns) noexcept {
    if (descriptors_ == nullptr) return 0;
    for (Unanswered& one : unanswered_) one.still_there = false;
    unsigned n_closed = 0;
    rewinddir(descriptors_.get());
    while (const dirent* entry = readdir(descriptors_.get())) {
        const int descriptor = std::atoi(entry->d_name);
        if (entry->d_name[0] == '.' || !ucx_sockets::contains(listening_, ucx_sockets::here(descriptor))) continue;
        const SocketName from = ucx_sockets::there(descriptor);
        if (from.port == 0 || is_answered(descriptor) || !must_close(from, now_ns)) continue;
        n_closed += shutdown(descriptor, SHUT_RDWR) == 0 ? 1 : 0;  // UCX then finds the connection broken and closes it
    }
    std::erase_if(unanswered_, [](const Unanswered& one) { return !one.still_there; });
    return n_closed;
}

bool UcxConnectionLimiter::must_close(const SocketName& from, Nanoseconds now_ns) noexcept {
    const auto known =
        std::find_if(unanswered_.begin(), unanswered_.end(), [&](const Unanswered& one) { return one.from == from; });
    if (known != unanswered_.end()) {
        known->still_there = true;
        return now_ns - known->since_ns >= patience_ns;
    }
    if (unanswered_.size() == max_unanswered) return true;
    unanswered_.push_back({from, now_ns, true});
    return false;
}

}  // namespace anello::fabric
