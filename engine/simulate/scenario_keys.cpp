// SPDX-License-Identifier: Apache-2.0
#include "simulate/scenario_keys.hpp"

#include <algorithm>

#include "simulate/farm/assignments.hpp"

namespace anello::simulate {
namespace {

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
    scenario.roles = parts_of(text);
    exchange::parse_roles(scenario.roles, scenario.n_nodes);
}

void keep_faults(FarmScenario& scenario, std::string_view name, std::string_view text) {
    std::vector<Fault> kept;
    for (const std::string& one : parts_of(text)) {
        const double last = static_cast<double>(scenario.faults.size()) - 1;
        kept.push_back(scenario.faults[static_cast<std::size_t>(read_number(name, one, 0, last))]);
    }
    scenario.faults = std::move(kept);
}

const std::vector<Assignable<FarmScenario>>& keys() {
    constexpr double day_ns = 86'400e9;
    using S = FarmScenario;
    using N = NetworkConfig;
    static const std::vector<Assignable<FarmScenario>> all{
        {"n_nodes", set_nodes},
        {"roles", set_roles},
        {"faults", keep_faults},
        {"seed", set_seed},
        word<S>("protocol", &S::protocol),
        word<S>("when_full", &S::when_full),
        word<S>("payload", &S::payload),
        word<S>("done_when", &S::network, &N::done_when),
        number<S>("steps_ahead", 0, exchange::max_steps_ahead, &S::steps_ahead),
        number<S>("n_meps", 1, 1e9, &S::n_meps),
        number<S>("packing", 1, 0xffff, &S::packing),
        number<S>("n_credits", 1, 65'536, &S::n_credits),
        number<S>("n_buffers", 2, 65'536, &S::n_buffers),
        number<S>("max_in_flight", 1, 65'536, &S::max_in_flight),
        number<S>("rate_hz", 0, 1e9, &S::rate_hz),
        number<S>("fragment_bytes", 1, 30'000, &S::fragment_bytes),
        number<S>("fragment_spread", 0, 10, &S::fragment_spread),
        number<S>("mfp_bytes", 0, 1e9, &S::mfp_bytes),
        number<S>("message_ns", 0, day_ns, &S::message_ns),
        number<S>("own_message_ns", 0, day_ns, &S::own_message_ns),
        number<S>("n_cores", 0, 4096, &S::n_cores),
        number<S>("is_judged", 0, 1, &S::is_judged),
        number<S>("carries_fragments", 0, 1, &S::carries_fragments),
        number<S>("stores", 0, 1, &S::stores),
        number<S>("max_file_bytes", 0, 1e15, &S::max_file_bytes),
        number<S>("waits_for_data", 0, 1, &S::waits_for_data),
        number<S>("timeout_ns", 1, day_ns, &S::timeout_ns),
        number<S>("peer_timeout_ns", 1, day_ns, &S::peer_timeout_ns),
        number<S>("heartbeat_ns", 4, day_ns, &S::heartbeat_ns),
        number<S>("gbps", 1e-3, 1e5, &S::network, &N::gbps),
        number<S>("latency_ns", 0, day_ns, &S::network, &N::latency_ns),
        number<S>("jitter_ns", 0, 4e9, &S::network, &N::jitter_ns),
        number<S>("window_bytes", 1, 1e12, &S::network, &N::window_bytes),
        number<S>("nodes_per_leaf", 0, 4096, &S::network, &N::nodes_per_leaf),
        number<S>("n_spines", 1, 4096, &S::network, &N::n_spines),
        number<S>("card_sum_gbps", 0, 1e6, &S::network, &N::card_sum_gbps),
        number<S>("uplink_gbps", 0, 1e5, &S::network, &N::uplink_gbps),
        number<S>("buffer_bytes", 1, 1e12, &S::network, &N::buffer_bytes),
        number<S>("cell_bytes", 64, 1e9, &S::network, &N::cell_bytes),
        number<S>("packet_bytes", 1, 1e9, &S::network, &N::packet_bytes),
        number<S>("packet_overhead_bytes", 0, 1e6, &S::network, &N::packet_overhead_bytes),
        number<S>("n_failed_cables", 0, 1e6, &S::network, &N::n_failed_cables),
        word<S>("routing", &S::network, &N::routing),
        number<S>("reliable", 0, 1, &S::network, &N::reliable),
        number<S>("loss", 0, 1, &S::network, &N::loss),
        number<S>("duplicate", 0, 0.9, &S::network, &N::duplicate),
        number<S>("step_ns", 1, day_ns, &S::step_ns),
        number<S>("thing_ns", 0, day_ns, &S::thing_ns),
        number<S>("core_gbps", 1e-3, 1e6, &S::core_gbps),
        number<S>("wake_ns", 0, day_ns, &S::wake_ns),
        number<S>("preemption", 0, 1, &S::preemption),
        number<S>("preempted_ns", 0, 4e9, &S::preempted_ns),
        number<S>("sink_holds_ns", 0, day_ns, &S::sink_holds_ns),
        number<S>("start_spread_ns", 0, day_ns, &S::start_spread_ns),
        number<S>("told_ns", 0, day_ns, &S::told_ns),
    };
    return all;
}

}  // namespace

void set(FarmScenario& scenario, std::string_view assignment) {
    assign(scenario, keys(), assignment);
}

std::vector<std::string> scenario_key_names() {
    std::vector<std::string> names;
    for (const auto& key : keys()) names.emplace_back(key.name);
    return names;
}

}  // namespace anello::simulate
