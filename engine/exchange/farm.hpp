// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.hpp"
#include "fabric/fabric.hpp"

namespace anello::exchange {

using Node = fabric::Peer;

inline constexpr std::size_t max_nodes = 1024;
inline constexpr std::uint16_t no_unit = 0xffff;

/// Which node has which role: the same in all nodes. Units count from 0 in the order of their nodes.
struct Farm {
    Node manager = 0;
    std::vector<Node> readouts;             ///< node of each readout unit
    std::vector<Node> builders;             ///< node of each builder unit
    std::vector<std::uint16_t> readout_of;  ///< by node: its readout unit, or no_unit
    std::vector<std::uint16_t> builder_of;  ///< by node: its builder unit, or no_unit

    std::size_t n_nodes() const noexcept { return readout_of.size(); }
};

inline constexpr std::array<std::string_view, 3> role_words{"em", "ru", "bu"};

struct RolesConfig {
    std::vector<std::string> roles{"all"};
};
extern const Keys<RolesConfig> roles_keys;

/// Reads {"all"} (every node reads out and builds, node 0 manages), or one entry per node of em, ru, bu joined by +,
/// with exactly one em. Throws ConfigError.
Farm parse_roles(const std::vector<std::string>& roles, std::size_t n_nodes);

}  // namespace anello::exchange
