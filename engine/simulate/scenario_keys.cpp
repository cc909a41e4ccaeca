// SPDX-License-Identifier: Apache-2.0
#include "simulate/scenario_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <concepts>
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

/// A number that `place(scenario)` is.
template <typename Place>
ScenarioKey number(std::string_view name, double least, double greatest, Place place) {
    return {name, [=](FarmScenario& scenario, std::string_view key, std::string_view text) {
                auto& value = place(scenario);
                value = static_cast<std::remove_reference_t<decltype(value)>>(read_number(key, text, least, greatest));
            }};
}

template <typename Place>
ScenarioKey word(std::string_view name, Place place) {
    return {name, [=](FarmScenario& scenario, std::string_view key, std::string_view text) {
                auto& value = place(scenario);
                using Enum = std::remove_reference_t<decltype(value)>;
                value = static_cast<Enum>(place_of(std::string(text), words_of<Enum>, "simulate." + std::string(key)));
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
    static const std::vector<ScenarioKey> all{
        {"n_nodes", set_nodes},
        {"roles", set_roles},
        {"faults", keep_faults},
        word(
            "protocol", [](S & s) -> auto& { return s.protocol; }),
        word(
            "when_full", [](S & s) -> auto& { return s.when_full; }),
        word(
            "payload", [](S & s) -> auto& { return s.payload; }),
        word(
            "done_when", [](S & s) -> auto& { return s.network.done_when; }),
        number(
            "n_meps", 1, 1e9, [](S & s) -> auto& { return s.n_meps; }),
        number(
            "packing", 1, 0xffff, [](S & s) -> auto& { return s.packing; }),
        number(
            "n_credits", 1, 65'536, [](S & s) -> auto& { return s.n_credits; }),
        number(
            "n_buffers", 2, 65'536, [](S & s) -> auto& { return s.n_buffers; }),
        number(
            "max_in_flight", 1, 65'536, [](S & s) -> auto& { return s.max_in_flight; }),
        number(
            "rate_hz", 0, 1e9, [](S & s) -> auto& { return s.rate_hz; }),
        number(
            "fragment_bytes", 1, 30'000, [](S & s) -> auto& { return s.fragment_bytes; }),
        number(
            "waits_for_data", 0, 1, [](S & s) -> auto& { return s.waits_for_data; }),
        number(
            "timeout_ns", 1, day_ns, [](S & s) -> auto& { return s.timeout_ns; }),
        number(
            "peer_timeout_ns", 1, day_ns, [](S & s) -> auto& { return s.peer_timeout_ns; }),
        number(
            "heartbeat_ns", 4, day_ns, [](S & s) -> auto& { return s.heartbeat_ns; }),
        number(
            "gbps", 1e-3, 1e5, [](S & s) -> auto& { return s.network.gbps; }),
        number(
            "latency_ns", 0, day_ns, [](S & s) -> auto& { return s.network.latency_ns; }),
        number(
            "jitter_ns", 0, 4e9, [](S & s) -> auto& { return s.network.jitter_ns; }),
        number(
            "window_bytes", 1, 1e12, [](S & s) -> auto& { return s.network.window_bytes; }),
        number(
            "reliable", 0, 1, [](S & s) -> auto& { return s.network.reliable; }),
        number(
            "loss", 0, 1, [](S & s) -> auto& { return s.network.loss; }),
        number(
            "duplicate", 0, 0.9, [](S & s) -> auto& { return s.network.duplicate; }),
        number(
            "step_ns", 1, day_ns, [](S & s) -> auto& { return s.step_ns; }),
        number(
            "thing_ns", 0, day_ns, [](S & s) -> auto& { return s.thing_ns; }),
        number(
            "wake_ns", 0, day_ns, [](S & s) -> auto& { return s.wake_ns; }),
        number(
            "preemption", 0, 1, [](S & s) -> auto& { return s.preemption; }),
        number(
            "preempted_ns", 0, 4e9, [](S & s) -> auto& { return s.preempted_ns; }),
        number(
            "sink_holds_ns", 0, day_ns, [](S & s) -> auto& { return s.sink_holds_ns; }),
        number(
            "start_spread_ns", 0, day_ns, [](S & s) -> auto& { return s.start_spread_ns; }),
        number(
            "told_ns", 0, day_ns, [](S & s) -> auto& { return s.told_ns; }),
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
