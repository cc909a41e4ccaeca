// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "fabric/fabric_config.hpp"

namespace anello::pipeline {

/// What a transport can do on this machine.
struct TransportInfo {
    std::string name;
    bool available = false;
    std::string reason;  ///< why it is not available
    std::string mode;    ///< how it works, if it is available
};
/// Tries each transport briefly.
std::vector<TransportInfo> probe_transports();

struct PointToPointConfig {
    fabric::FabricConfig fabric;  ///< `self`, `n_peers` and `farm_id` are set for the measurement
    std::size_t message_bytes = 120'000;
    std::uint32_t n_buffers = 20;  ///< the sender sends from these, and the receiver receives into these, in turn
    Nanoseconds duration_ns = 1'000'000'000;
    void validate() const;  ///< Throws ConfigError.
};

struct PointToPointResult {
    std::uint64_t n_messages = 0;
    std::size_t message_bytes = 0;
    Nanoseconds duration_ns = 0;
    std::string about;
    double gbit_per_s() const noexcept {
        return duration_ns > 0 ? static_cast<double>(n_messages) * static_cast<double>(message_bytes) * 8 /
                                     static_cast<double>(duration_ns)
                               : 0;
    }
};

/// Measures what a transport carries between two idle nodes: one thread sends, one receives. Throws ConfigError,
/// SystemError.
PointToPointResult measure_point_to_point(const PointToPointConfig& config);

}  // namespace anello::pipeline
