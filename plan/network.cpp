// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "core/errors.hpp"

namespace anello::plan {
namespace sg = simgrid::s4u;
namespace {

constexpr double per_second = 1e9;  // SimGrid counts in seconds

/// A pair's own number, the same in every run of a seed (splitmix64).
std::uint64_t hash(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

}  // namespace

Network::Network(const PlanConfig& config) : config_(config), zone_(sg::create_full_zone("farm")) {
    make_nodes();
    make_tree();
    add_routes();
    zone_->seal();
}

void Network::make_nodes() {
    const double half_latency_s = config_.latency_ns / per_second / 2;
    const auto link = [&](const char* kind, std::uint32_t node, double rate, double latency_s) {
        return zone_->create_link(fmt::format("{}{}", kind, node), rate * per_second)->set_latency(latency_s);
    };
    const double processor_ns = config_.processor_ns();
    const double processor_rate = processor_ns > 0 ? config_.message_bytes / processor_ns : 0;
    const bool has_cards = config_.link_rate > 0;
    // All ways have the same latency: SimGrid shares a link among messages by their latencies.
    const double end_latency_s = half_latency_s + (config_.per_message_ns / per_second);
    for (std::uint32_t node = 0; node < config_.n_nodes; ++node) {
        hosts_.push_back(zone_->create_host(fmt::format("node{}", node), per_second));
        memory_.push_back(link("memory", node, config_.memory_rate, 2 * end_latency_s));
        if (has_cards) {
            out_.push_back(link("out", node, config_.link_rate, end_latency_s));
            in_.push_back(link("in", node, config_.link_rate, end_latency_s));
        }
        if (processor_rate > 0) {
            send_processor_.push_back(link("send", node, processor_rate, 0));
            const bool shared = config_.n_threads == 1;
            receive_processor_.push_back(shared ? send_processor_.back() : link("receive", node, processor_rate, 0));
        }
    }
    // Each message takes the time of a core twice: at its sender and at its receiver.
    if (config_.n_cores > 0 && processor_rate > 0) cores_ = link("cores", 0, processor_rate * config_.n_cores / 2, 0);
    const std::size_t n_cards = has_cards ? config_.n_nodes : 0;
    loads_.assign(4, {});
    for (const std::size_t kind : {out, in}) loads_[kind] = {std::vector<double>(n_cards), config_.link_rate};
}

void Network::make_tree() {
    const std::uint32_t n_leaves = config_.n_leaves();
    if (config_.link_rate <= 0 || n_leaves < 2) return;
    cut_cables();
    const bool spread = config_.routing == Routing::spread;
    for (std::uint32_t leaf_index = 0; leaf_index < n_leaves; ++leaf_index) {
        std::uint32_t n_whole = 0;
        for (std::uint32_t s = 0; s < config_.n_spines; ++s) n_whole += !cut_[cable(leaf_index, s)];
        if (n_whole == 0)
            throw ConfigError("n_failed_links", "must leave each leaf switch a cable",
                              fmt::format("{}", config_.n_failed_links), "Cut fewer");
        const double rate = config_.uplink_rate * per_second * (spread ? n_whole : 1);
        for (std::uint32_t s = 0; s < (spread ? 1 : config_.n_spines); ++s) {
            up_.push_back(zone_->create_link(fmt::format("up{}-{}", leaf_index, s), rate));
            down_.push_back(zone_->create_link(fmt::format("down{}-{}", leaf_index, s), rate));
        }
    }
    const double n_cables = double(cut_.size()) - double(std::count(cut_.begin(), cut_.end(), true));
    const double rate = spread ? config_.uplink_rate * n_cables / n_leaves : config_.uplink_rate;
    for (const std::size_t kind : {up, down}) loads_[kind] = {std::vector<double>(up_.size()), rate};
}

void Network::cut_cables() {
    std::vector<std::size_t> cables(std::size_t{config_.n_leaves()} * config_.n_spines);
    for (std::size_t i = 0; i < cables.size(); ++i) cables[i] = i;
    std::mt19937_64 chance(config_.seed);
    std::shuffle(cables.begin(), cables.end(), chance);
    cut_.assign(cables.size(), false);
    for (std::uint32_t i = 0; i < config_.n_failed_links; ++i) cut_[cables[i]] = true;
}

void Network::add_routes() {
    const std::uint32_t n = config_.n_nodes;
    spines_.assign(std::size_t{n} * n, own_leaf);
    for (std::uint32_t from = 0; from < n; ++from)
        for (std::uint32_t to = 0; to < n; ++to)
            zone_->add_route(hosts_[from]->get_netpoint(), hosts_[to]->get_netpoint(), nullptr, nullptr,
                             route(from, to), false);
}

std::vector<sg::LinkInRoute> Network::route(std::uint32_t from, std::uint32_t to) {
    std::vector<sg::LinkInRoute> links;
    if (from == to || config_.link_rate <= 0) {
        links.emplace_back(memory_[from]);
    } else {
        links.emplace_back(out_[from]);
        if (leaf(from) != leaf(to)) {
            const std::uint32_t chosen = spine(from, to);
            spines_[std::size_t{from} * config_.n_nodes + to] = chosen;
            const bool spread = config_.routing == Routing::spread;
            links.emplace_back(up_[spread ? leaf(from) : cable(leaf(from), chosen)]);
            links.emplace_back(down_[spread ? leaf(to) : cable(leaf(to), chosen)]);
        }
        links.emplace_back(in_[to]);
    }
    add_processors(links, from, to);
    return links;
}

void Network::add_processors(std::vector<sg::LinkInRoute>& links, std::uint32_t from, std::uint32_t to) const {
    if (send_processor_.empty()) return;
    links.emplace_back(send_processor_[from]);
    // A link counts once in a route, so a node's message to itself costs a single thread one side only.
    if (receive_processor_[to] != send_processor_[from]) links.emplace_back(receive_processor_[to]);
    if (cores_) links.emplace_back(cores_);
}

std::uint32_t Network::spine(std::uint32_t from, std::uint32_t to) const {
    if (config_.routing == Routing::spread) return 0;
    const std::uint64_t pair = std::uint64_t{from} * config_.n_nodes + to;
    const std::uint64_t wanted = config_.routing == Routing::hashed ? hash(pair ^ hash(config_.seed)) : to;
    for (std::uint32_t step = 0; step < config_.n_spines; ++step) {
        const auto chosen = static_cast<std::uint32_t>((wanted + step) % config_.n_spines);
        if (!cut_[cable(leaf(from), chosen)] && !cut_[cable(leaf(to), chosen)]) return chosen;
    }
    throw ConfigError("n_failed_links", "must leave a way between any two leaf switches",
                      fmt::format("{}", config_.n_failed_links), "Cut fewer");
}

std::uint32_t Network::leaf(std::uint32_t node) const {
    return static_cast<std::uint32_t>(std::uint64_t{node} * config_.n_leaves() / config_.n_nodes);
}

std::size_t Network::cable(std::uint32_t leaf_index, std::uint32_t spine_index) const {
    return std::size_t{leaf_index} * config_.n_spines + spine_index;
}

void Network::clear_loads() {
    for (LinkLoad& load : loads_) std::fill(load.bytes.begin(), load.bytes.end(), 0);
}

void Network::count(std::uint32_t from, std::uint32_t to, double bytes) {
    if (from == to || config_.link_rate <= 0) return;
    loads_[out].bytes[from] += bytes;
    loads_[in].bytes[to] += bytes;
    const std::uint32_t chosen = spines_[std::size_t{from} * config_.n_nodes + to];
    if (chosen == own_leaf) return;
    const bool spread = config_.routing == Routing::spread;
    loads_[up].bytes[spread ? leaf(from) : cable(leaf(from), chosen)] += bytes;
    loads_[down].bytes[spread ? leaf(to) : cable(leaf(to), chosen)] += bytes;
}

}  // namespace anello::plan
