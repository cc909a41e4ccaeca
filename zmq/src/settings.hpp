// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace anello::zeromq {

/// The settings in environment variables, read once: a library without a configuration file has no other place.
/// docs/how-to/zeromq.md describes them.
struct Settings {
    bool ring = true;                                    ///< ZMQ_ANELLO_RING: 0 switches all of this off
    std::size_t ring_bytes = std::size_t{2} << 20;       ///< ZMQ_ANELLO_RING_BYTES: of a direction that carries data
    std::size_t all_rings_bytes = std::size_t{1} << 30;  ///< ZMQ_ANELLO_ALL_RINGS_BYTES: of this process; then sockets
    bool copier = true;                                  ///< ZMQ_ANELLO_COPIER: 0: no second thread for large copies
    std::size_t lent_bytes = std::size_t{64} << 20;      ///< ZMQ_ANELLO_LENT_BYTES: per direction; 0: none, either way
    std::size_t pool_bytes = std::size_t{256} << 20;     ///< ZMQ_ANELLO_POOL_BYTES: idle memory kept; 0: no pool
};

const Settings& settings() noexcept;

}  // namespace anello::zeromq
