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
inline constexpr Node no_node = 0xffff;

/// The roles of all nodes, equal in all of them. Units are numbered from 0 in the order of their nodes.
struct Farm {
    Node manager = 0;
    Node standby = no_node;                 ///< takes over if the manager is lost
    std::vector<Node> readouts;             ///< node of each readout unit
    std::vector<Node> builders;             ///< node of each builder unit
    std::vector<std::uint16_t> readout_of;  ///< by node: its readout unit, or no_unit
    std::vector<std::uint16_t> builder_of;  ///< by node: its builder unit, or no_unit

    std::size_t n_nodes() const noexcept { return readout_of.size(); }
};

inline constexpr std::array<std::string_view, 4> role_words{"em", "sb", "ru", "bu"};

struct RolesConfig {
    std::vector<std::string> roles{"all"};
};
extern const Keys<RolesConfig> roles_keys;

/// Reads {"all"} (every node reads out and builds, node 0 manages), {"all+sb"} (also, node 1 is the standby), or one
/// entry per node of em, sb, ru, bu joined by +. Exactly one node is em, and at most one, another node, is sb. Throws
/// ConfigError.
Farm parse_roles(const std::vector<std::string>& roles, std::size_t n_nodes);

}  // namespace anello::exchange
