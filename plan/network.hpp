// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <simgrid/s4u.hpp>
#include <vector>

#include "plan_config.hpp"

namespace anello::plan {

/// Bytes that crossed links of one kind.
struct LinkLoad {
    std::vector<double> bytes;  ///< by link
    double rate = 0;            ///< of each link, bytes/ns
};

/// Nodes, their cards and processors, and a fat tree of leaf and spine switches, as SimGrid's hosts and links.
/// A processor is a link too: of the rate at which it can handle messages, so that a message takes its share of both.
class Network {
  public:
    /// SimGrid's engine must exist. Throws ConfigError where cut cables leave a leaf without a way.
    explicit Network(const PlanConfig& config);

    simgrid::s4u::Host* host(std::uint32_t node) const { return hosts_[node]; }
    /// Whatever is counted now is forgotten.
    void clear_loads();
    void count(std::uint32_t from, std::uint32_t to, double bytes);

    /// Of cards sending and receiving, of cables up to spine switches and down.
    const std::vector<LinkLoad>& loads() const { return loads_; }

  private:
    static constexpr std::size_t out = 0, in = 1, up = 2, down = 3;
    static constexpr std::uint32_t own_leaf = 0xffffffff;
    using Links = std::vector<simgrid::s4u::Link*>;

    void make_nodes();
    void make_tree();
    void cut_cables();
    void add_routes();
    std::vector<simgrid::s4u::LinkInRoute> route(std::uint32_t from, std::uint32_t to);
    std::uint32_t spine(std::uint32_t from, std::uint32_t to) const;
    std::uint32_t leaf(std::uint32_t node) const;
    std::size_t cable(std::uint32_t leaf_index, std::uint32_t spine_index) const;
    void add_processors(std::vector<simgrid::s4u::LinkInRoute>& links, std::uint32_t from, std::uint32_t to) const;

    const PlanConfig& config_;
    simgrid::s4u::NetZone* zone_;
    std::vector<simgrid::s4u::Host*> hosts_;
    Links memory_, send_processor_, receive_processor_, out_, in_, up_, down_;
    simgrid::s4u::Link* cores_ = nullptr;
    std::vector<bool> cut_;              ///< by cable
    std::vector<std::uint32_t> spines_;  ///< by sender x nodes + receiver
    std::vector<LinkLoad> loads_;
};

}  // namespace anello::plan
