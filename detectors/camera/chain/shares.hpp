// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "camera/chain/node_config.hpp"
#include "pipeline/intake.hpp"

/// Assignment of a camera's boards to ports.
namespace anello::camera {

/// The boards that send to a port, as the source assigns them: those whose wire::camera::port_index is `port`.
inline BoardRange boards_of_port(std::uint32_t n_boards, std::uint32_t n_ports, std::uint32_t port) noexcept {
    const auto first_of = [=](std::uint32_t p) {
        return static_cast<std::uint32_t>((std::uint64_t{p} * n_boards + n_ports - 1) / n_ports);
    };
    return {first_of(port), first_of(port + 1) - first_of(port)};
}

}  // namespace anello::camera
