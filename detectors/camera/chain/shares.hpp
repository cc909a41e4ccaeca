// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "camera/chain/node_config.hpp"
#include "pipeline/intake.hpp"

/// How a camera's boards are spread over ports, and how much its threads take at a time.
namespace anello::camera {

/// The boards behind a port, as the source shares them out: those whose wire::camera::port_index is `port`.
inline BoardRange boards_of_port(std::uint32_t n_boards, std::uint32_t n_ports, std::uint32_t port) noexcept {
    const auto first_of = [=](std::uint32_t p) {
        return static_cast<std::uint32_t>((std::uint64_t{p} * n_boards + n_ports - 1) / n_ports);
    };
    return {first_of(port), first_of(port + 1) - first_of(port)};
}

/// PERF NOTE: more than fit into the second-level cache are dearer to copy (camera_receive: 16 instead of 64 of 8 kB
/// take a twelfth off a copy, a fifth off three stages).
inline std::uint32_t datagrams_at_once(const CameraNodeConfig& config) noexcept {
    constexpr std::size_t cached_bytes = 128 << 10;
    const auto that_fit = static_cast<std::uint32_t>(cached_bytes / config.build.shape.slot_bytes());
    return std::clamp(that_fit, std::min(8U, config.backend.batch_datagrams), config.backend.batch_datagrams);
}

}  // namespace anello::camera
