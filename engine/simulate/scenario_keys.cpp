// SPDX-License-Identifier: Apache-2.0
#include "simulate/scenario_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <sstream>

#include "core/errors.hpp"

namespace anello::simulate {
namespace {

[[noreturn]] void refuse(std::string_view name, const std::string& rule, std::string_view given) {
    throw ConfigError("simulate." + std::string(name), rule, std::string(given), "See anello simulate --help.");
}

double read_number(std::string_view name, std::string_view text, double least, double greatest) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= greatest))
        refuse(name, fmt::format("must be a number from {:g} to {:g}", least, greatest), text);
    return value;
}

struct ScenarioKey {
    std::string_view name;
    std::function<void(FarmScenario&, std::string_view name, std::string_view text)> set;
};

/// A number that lies at the end of this path.
template <typename... Members>
ScenarioKey number(std::string_view name, double least, double greatest, Members... path) {
    return {name, [=](FarmScenario& scenario, std::string_view key, std::string_view text) {
                auto& value = (scenario.*....*path);
                value = static_cast<std::remove_reference_t<decltype(value)>>(read_number(key, text, least, greatest));
            }};
}

template <typename... Members>
ScenarioKey word(std::string_view name, Members... path) {
    return {name, [=](FarmScenario& scenario, std::string_view key, std::string_view text) {
                auto& value = (scenario.*....*path);
                using Enum = std::remove_reference_t<decltype(value)>;
                value = parse_word<Enum>(text, "simulate." + std::string(key));
            }};
}

void set_nodes(FarmScenario& scenario, std::string_view name, std::string_view text) {
    scenario.n_nodes = static_cast<std::uint16_t>(read_number(name, text, 1, 512));
    scenario.network.n_nodes = scenario.n_nodes;
    if (scenario.roles.size() > 1) scenario.roles.resize(scenario.n_nodes, "ru+bu");
    std::erase_if(scenario.faults, [&](const Fault& fault) {
        return std::max(fault.node, fault.kind == FaultKind::cut ? fault.other : fault.node) >= scenario.n_nodes;
    });
}

void set_seed(FarmScenario& scenario, std::string_view name, std::string_view text) {
    scenario.seed = scenario.network.seed = static_cast<std::uint64_t>(read_number(name, text, 0, 0x1p53));
}

void set_roles(FarmScenario& scenario, std::string_view, std::string_view text) {
    std::istringstream words{std::string(text)};
    scenario.roles.clear();
    for (std::string one; std::getline(words, one, ',');) scenario.roles.push_back(one);
    exchange::parse_roles(scenario.roles, scenario.n_nodes);
}

void keep_faults(FarmScenario& scenario, std::string_view name, std::string_view text) {
    std::vector<Fault> kept;
    std::istringstream numbers{std::string(text)};
    for (std::string one; std::getline(numbers, one, ',');) {
        const double last = static_cast<double>(scenario.faults.size()) - 1;
        kept.push_back(scenario.faults[static_cast<std::size_t>(read_number(name, one, 0, last))]);
    }
    scenario.faults = std::move(kept);
}

const std::vector<ScenarioKey>& keys() {
    constexpr double day_ns = 86'400e9;
    using S = FarmScenario;
    using N = NetworkConfig;
    static const std::vector<ScenarioKey> all{
        {"n_nodes", set_nodes},
        {"roles", set_roles},
        {"faults", keep_faults},
        {"seed", set_seed},
        word("protocol", &S::protocol),
        word("when_full", &S::when_full),
        word("payload", &S::payload),
        word("done_when", &S::network, &N::done_when),
        number("steps_ahead", 0, exchange::max_steps_ahead, &S::steps_ahead),
        number("n_meps", 1, 1e9, &S::n_meps),
        number("packing", 1, 0xffff, &S::packing),
        number("n_credits", 1, 65'536, &S::n_credits),
        number("n_buffers", 2, 65'536, &S::n_buffers),
        number("max_in_flight", 1, 65'536, &S::max_in_flight),
        number("rate_hz", 0, 1e9, &S::rate_hz),
        number("fragment_bytes", 1, 30'000, &S::fragment_bytes),
        number("fragment_spread", 0, 10, &S::fragment_spread),
        number("mfp_bytes", 0, 1e9, &S::mfp_bytes),
        number("message_ns", 0, day_ns, &S::message_ns),
        number("own_message_ns", 0, day_ns, &S::own_message_ns),
        number("n_cores", 0, 4096, &S::n_cores),
        number("is_judged", 0, 1, &S::is_judged),
        number("carries_fragments", 0, 1, &S::carries_fragments),
        number("stores", 0, 1, &S::stores),
        number("max_file_bytes", 0, 1e15, &S::max_file_bytes),
        number("waits_for_data", 0, 1, &S::waits_for_data),
        number("timeout_ns", 1, day_ns, &S::timeout_ns),
        number("peer_timeout_ns", 1, day_ns, &S::peer_timeout_ns),
        number("heartbeat_ns", 4, day_ns, &S::heartbeat_ns),
        number("gbps", 1e-3, 1e5, &S::network, &N::gbps),
        number("latency_ns", 0, day_ns, &S::network, &N::latency_ns),
        number("jitter_ns", 0, 4e9, &S::network, &N::jitter_ns),
        number("window_bytes", 1, 1e12, &S::network, &N::window_bytes),
        number("nodes_per_leaf", 0, 4096, &S::network, &N::nodes_per_leaf),
        number("n_spines", 1, 4096, &S::network, &N::n_spines),
        number("card_sum_gbps", 0, 1e6, &S::network, &N::card_sum_gbps),
        number("uplink_gbps", 0, 1e5, &S::network, &N::uplink_gbps),
        number("buffer_bytes", 1, 1e12, &S::network, &N::buffer_bytes),
        number("cell_bytes", 64, 1e9, &S::network, &N::cell_bytes),
        number("packet_bytes", 1, 1e9, &S::network, &N::packet_bytes),
        number("packet_overhead_bytes", 0, 1e6, &S::network, &N::packet_overhead_bytes),
        number("n_failed_cables", 0, 1e6, &S::network, &N::n_failed_cables),
        word("routing", &S::network, &N::routing),
        number("reliable", 0, 1, &S::network, &N::reliable),
        number("loss", 0, 1, &S::network, &N::loss),
        number("duplicate", 0, 0.9, &S::network, &N::duplicate),
        number("step_ns", 1, day_ns, &S::step_ns),
        number("thing_ns", 0, day_ns, &S::thing_ns),
        number("core_gbps", 1e-3, 1e6, &S::core_gbps),
        number("wake_ns", 0, day_ns, &S::wake_ns),
        number("preemption", 0, 1, &S::preemption),
        number("preempted_ns", 0, 4e9, &S::preempted_ns),
        number("sink_holds_ns", 0, day_ns, &S::sink_holds_ns),
        number("start_spread_ns", 0, day_ns, &S::start_spread_ns),
        number("told_ns", 0, day_ns, &S::told_ns),
    };
    return all;
}

}  // namespace

void set(FarmScenario& scenario, std::string_view assignment) {
    const std::size_t equals = assignment.find('=');
    const std::string_view name = assignment.substr(0, equals);
    const auto key = std::ranges::find(keys(), name, &ScenarioKey::name);
    if (equals == std::string_view::npos || key == keys().end())
        refuse(name, fmt::format("must be NAME=VALUE, with one of {}", fmt::join(scenario_key_names(), ", ")),
               assignment);
    key->set(scenario, name, assignment.substr(equals + 1));
}

std::vector<std::string> scenario_key_names() {
    std::vector<std::string> names;
    for (const ScenarioKey& key : keys()) names.emplace_back(key.name);
    return names;
}

}  // namespace anello::simulate
