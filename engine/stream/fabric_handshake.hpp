// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/counters/counters.hpp"
#include "core/kernel_handle.hpp"
#include "fabric/fabric_config.hpp"
#include "stream/handshake.hpp"
#include "stream/stream_config.hpp"
#include "stream/stream_counters.hpp"
#include "stream/stream_keys.hpp"

namespace anello::stream {

/// Like shake_hands(), for a stream over a transport of the fabric: exchanges hellos, with the addresses of both
/// fabrics, over a TCP connection that stays open as long as the stream. Throws ConfigError and SystemError for errors
/// of this side; errors of the peer are in the result.
Handshake shake_hands_over_fabric(Descriptor control, fabric::Transport transport, FabricSide side,
                                  const StreamConfig& config, Nanoseconds deadline_ns,
                                  Counters<StreamCounter> counters);

}  // namespace anello::stream
