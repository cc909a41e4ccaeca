// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel_handle.hpp"
#include "fabric/fabric_config.hpp"
#include "fabric/ucx/ucx_connection_limiter.hpp"
#include "fabric/ucx/ucx_devices.hpp"

namespace anello::fabric {

/// UCX's context and worker, and the descriptor that becomes readable when there is something to do.
class UcxWorker {
  public:
    explicit UcxWorker(const FabricConfig& config);  ///< Throws ConfigError, SystemError.
    ~UcxWorker();
    UcxWorker(const UcxWorker&) = delete;
    UcxWorker& operator=(const UcxWorker&) = delete;

    ucp_context_h context() const noexcept { return context_; }
    ucp_worker_h handle() const noexcept { return worker_; }
    /// UCX calls this function for each of our active messages that arrives.
    void on_message(ucp_am_recv_callback_t callback, void* argument);
    std::vector<std::byte> address() const;
    const std::vector<SocketName>& listening() const noexcept { return door_->listening(); }
    /// Call it every heartbeat. Returns the number of closed connections.
    unsigned close_strangers(Nanoseconds now_ns) noexcept { return door_->close_strangers(now_ns); }

    int descriptor() const noexcept { return poll_.number(); }
    bool arm() noexcept;
    void wake() noexcept;
    /// The descriptor also becomes readable periodically, for timed work.
    void take_tick() noexcept;

    /// For callers that cannot wait until UCX has finished: UCX stays open until the process ends. This object must
    /// stay, too.
    void leave_alone() noexcept;

    /// "UCX 1.13.1, UCX_TLS=tcp", and UCX's warnings at set-up.
    std::string describe() const;

  private:
    void open_context(const FabricConfig& config);
    void open_worker();
    void watch(const FabricConfig& config);
    void close() noexcept;

    const UcxDevices devices_;
    std::string warning_;
    std::optional<UcxConnectionLimiter> door_;
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    Descriptor poll_, ticks_;
    bool armed_ = false;
};

inline constexpr unsigned ucx_message_id = 0;  ///< of all our active messages

}  // namespace anello::fabric
