// SPDX-License-Identifier: Apache-2.0
#include "exchange/farm.hpp"

#include <fmt/format.h>

#include <sstream>

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace anello::exchange {
namespace {

[[noreturn]] void refuse(const std::string& rule, const std::string& given) {
    throw ConfigError("exchange.roles", rule, given, "The default is [\"all\"].");
}

/// Sets a role that only one node of a farm may have.
void add_single(Node& holder, Node node, const char* rule) {
    if (holder != no_node) refuse(rule, fmt::format("node {} and node {}", holder, node));
    holder = node;
}

void add_role(Farm& farm, Node node, const std::string& role, const std::string& entry) {
    if (role == "em") return add_single(farm.manager, node, "must have one event manager");
    if (role == "sb") return add_single(farm.standby, node, "must have one standby at most");
    if (role != "ru" && role != "bu") refuse("must be em, sb, ru, bu, joined by +, for each node", entry);
    std::uint16_t& unit = role == "ru" ? farm.readout_of[node] : farm.builder_of[node];
    std::vector<Node>& units = role == "ru" ? farm.readouts : farm.builders;
    if (unit != no_unit) refuse("must not name a role twice for one node", entry);
    unit = static_cast<std::uint16_t>(units.size());
    units.push_back(node);
}

constexpr std::array of_roles{
    Key<RolesConfig>::of<&RolesConfig::roles>(
        "roles", Limits{}.entries(1, max_nodes),
        "Roles of the nodes: em (event manager), sb (standby, which takes over when the event manager is lost), ru "
        "(readout unit), bu (builder unit), joined by +; one entry for each node, or [\"all\"]: every node reads out "
        "and builds, and node 0 manages; [\"all+sb\"]: and node 1 stands by.")
        .made_of(role_words),
};

}  // namespace

constinit const Keys<RolesConfig> roles_keys{"exchange", "Who builds which events, and how long one waits for another.",
                                             of_roles};

Farm parse_roles(const std::vector<std::string>& roles, std::size_t n_nodes) {
    if (n_nodes == 0 || n_nodes > max_nodes)
        throw ConfigError("n_nodes", fmt::format("must be 1 to {}", max_nodes), std::to_string(n_nodes),
                          "Start as many nodes as there are entries in exchange.roles.");
    const bool has_standby = roles.size() == 1 && roles.front() == "all+sb";
    const bool all = has_standby || (roles.size() == 1 && roles.front() == "all");
    if (!all && roles.size() != n_nodes)
        refuse(fmt::format("must be [\"all\"] or name each node, and there are {}", n_nodes),
               fmt::format("{} entries", roles.size()));
    Farm farm;
    farm.manager = no_node;
    farm.readout_of.assign(n_nodes, no_unit);
    farm.builder_of.assign(n_nodes, no_unit);
    for (Node node = 0; node < n_nodes; ++node) {
        const std::string entry = !all                       ? roles[node]
                                  : node == 0                ? "em+ru+bu"
                                  : has_standby && node == 1 ? "sb+ru+bu"
                                                             : "ru+bu";
        std::istringstream words(entry);
        for (std::string word; std::getline(words, word, '+');) {
            std::erase(word, ' ');
            add_role(farm, node, word, entry);
        }
    }
    if (farm.manager == no_node) refuse("must have one event manager", "none");
    if (farm.standby == farm.manager) refuse("must have the standby on another node", fmt::format("{}", farm.manager));
    constexpr std::size_t least_nodes = 3;
    if (farm.standby != no_node && n_nodes < least_nodes)
        refuse("must have three nodes or more where one is a standby: of two, none can tell whether the other is gone",
               fmt::format("{}", n_nodes));
    if (farm.readouts.empty() || farm.builders.empty()) refuse("must have a readout unit and a builder", "none");
    return farm;
}

}  // namespace anello::exchange
