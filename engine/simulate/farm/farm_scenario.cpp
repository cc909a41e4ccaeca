// SPDX-License-Identifier: Apache-2.0
#include "simulate/farm/farm_scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "simulate/scenario_keys.hpp"

namespace anello::simulate {
namespace {

using source::Random;

constexpr Nanoseconds ms = 1'000'000;

bool one_in(Random& random, std::uint32_t n) {
    return random.below(n) == 0;
}

/// Draws a time between the two, with all orders of magnitude equally likely.
Nanoseconds draw_time(Random& random, double from_ns, double to_ns) {
    double time_ns = from_ns;
    for (double left = random.uniform(0, 1) * source::natural_log(to_ns / from_ns); left > 0; left -= 0.01)
        time_ns *= left > 0.01 ? 1.01005 : 1 + left;
    return static_cast<Nanoseconds>(time_ns);
}

bool has_standby(const std::vector<std::string>& roles) {
    return std::ranges::any_of(roles, [](const std::string& role) { return role.find("sb") != std::string::npos; });
}

/// In most farms every node has all roles; in the others some nodes only read out, and some only build.
std::vector<std::string> draw_roles(Random& random, std::uint16_t n_nodes) {
    if (n_nodes < 2 || !one_in(random, 3)) return {"all"};
    std::vector<std::string> roles;
    for (std::uint16_t node = 0; node < n_nodes; ++node) {
        constexpr std::array words{"ru+bu", "ru", "bu"};
        roles.emplace_back(words[random.below(3)]);
    }
    roles.front() = one_in(random, 3) ? "em" : one_in(random, 2) ? "em+ru" : "em+ru+bu";
    roles[1] = "ru+bu";
    return roles;
}

/// Gives a standby to half of the farms that may have one.
void draw_standby(std::vector<std::string>& roles, std::uint16_t n_nodes, std::uint64_t seed) {
    Random random(seed, 0x7374616e646279);
    constexpr std::uint16_t least_nodes = 3;
    if (n_nodes < least_nodes || one_in(random, 2)) return;
    if (roles.size() == 1) {
        roles.assign(n_nodes, "ru+bu");
        roles.front() = "em+ru+bu";
    }
    std::string& standby = roles[1 + random.below(n_nodes - 1U)];
    standby = one_in(random, 8) && n_nodes > least_nodes && &standby != &roles[1] ? "sb" : "sb+" + standby;
}

/// Real packets hold thousands of events, which are mostly equal for the exchange: one farm in 16 has so many, of few
/// bytes each.
void draw_large_packets(FarmScenario& scenario) {
    Random random(scenario.seed, 0x7061636b);
    if (!one_in(random, 16)) return;
    constexpr std::uint64_t most_fragments = 400'000;
    scenario.packing = static_cast<std::uint32_t>(draw_time(random, 64, 8'192));
    scenario.fragment_bytes = 1 + random.below(4);
    const std::uint64_t most_meps = 1 + most_fragments / (std::uint64_t{scenario.packing} * scenario.n_nodes);
    scenario.n_meps = std::min(scenario.n_meps, most_meps);
}

void draw_files(FarmScenario& scenario) {
    Random random(scenario.seed, 0x66696c65);
    scenario.stores = one_in(random, 4);
    if (one_in(random, 2)) scenario.max_file_bytes = static_cast<std::uint64_t>(draw_time(random, 1e3, 1e6));
}

/// Draws an event rate high enough that packets assigned in advance have data before a builder gives them up, which it
/// does when nothing has arrived for ten timeouts.
double draw_rate(Random& random, const FarmScenario& scenario) {
    const auto n_meps = static_cast<double>(scenario.n_meps);
    const double n_ahead = std::min(n_meps, static_cast<double>(scenario.n_credits) * scenario.n_nodes);
    const double longest_ns = 8 * static_cast<double>(scenario.timeout_ns) * n_meps / n_ahead;
    const auto duration_ns = static_cast<double>(draw_time(random, 1e6, 3e9));
    return n_meps * scenario.packing * 1e9 / std::min(duration_ns, longest_ns);
}

/// Time-out with which all parts arrive in time, however far in advance a packet was assigned and however slow all are.
Nanoseconds patience_ns(const FarmScenario& scenario) {
    const NetworkConfig& network = scenario.network;
    constexpr double beside_bytes = 14;  // a fragment's entries in the tables, and its padding
    const double part_bits = 16.0 * (scenario.fragment_bytes + beside_bytes) * scenario.packing;
    const double by_message_ns = static_cast<double>(2 * (network.latency_ns + network.jitter_ns) + scenario.wake_ns +
                                                     20 * (scenario.step_ns + scenario.thing_ns)) +
                                 4 * scenario.preemption * static_cast<double>(scenario.preempted_ns) +
                                 scenario.n_nodes * part_bits * (1 / network.gbps + 1 / scenario.core_gbps);
    const double n_ahead =
        std::min(static_cast<double>(scenario.n_meps), static_cast<double>(scenario.n_credits) * scenario.n_nodes);
    return static_cast<Nanoseconds>(4 * n_ahead * by_message_ns);
}

/// Draws buffers of a few cells, in addition to the data on their way until a sender learns that there is room.
void draw_switches(NetworkConfig& network, std::uint64_t seed) {
    Random random(seed, 0x737769746368);
    if (!one_in(random, 3)) return;
    network.nodes_per_leaf = static_cast<std::uint16_t>(1 + random.below(3));
    network.n_spines = static_cast<std::uint16_t>(1 + random.below(2));
    network.routing = static_cast<Routing>(random.below(3));
    const double flying_bytes = static_cast<double>(network.latency_ns) * network.gbps / 8;
    network.buffer_bytes =
        static_cast<std::size_t>(flying_bytes) + 5'000 * (1 + random.below(one_in(random, 2) ? 2 : 20));
}

constexpr Nanoseconds least_where_lost_ns = 250'000'000;  // several heartbeats in a row may be lost

NetworkConfig draw_network(Random& random, const FarmScenario& scenario, const Draw& limits) {
    NetworkConfig network;
    network.n_nodes = scenario.n_nodes;
    network.seed = scenario.seed;
    network.gbps = one_in(random, 3) ? 1 : one_in(random, 2) ? 10 : 100;
    network.latency_ns = draw_time(random, 1'000, one_in(random, 8) ? 2e6 : 1e5);
    if (one_in(random, 2)) network.jitter_ns = draw_time(random, 1'000, 1e6);
    network.done_when = one_in(random, 2) ? DoneWhen::copied : DoneWhen::arrived;
    network.window_bytes = one_in(random, 3) ? 2'000 : one_in(random, 2) ? 64'000 : 512 << 10;
    draw_switches(network, scenario.seed);
    if (!limits.may_lose || !one_in(random, 4)) return network;
    network.reliable = false;
    network.done_when = DoneWhen::copied;
    if (!one_in(random, 3)) network.loss = random.uniform(0, 0.1);
    if (one_in(random, 2)) network.duplicate = random.uniform(0, 0.2);
    return network;
}

Fault draw_fault(Random& random, const FarmScenario& scenario, const Draw& limits) {
    Fault fault;
    fault.kind = limits.kinds[random.below(static_cast<std::uint32_t>(limits.kinds.size()))];
    const auto n_nodes = static_cast<std::uint32_t>(scenario.n_nodes);
    fault.node = static_cast<Node>(random.below(n_nodes));
    const bool is_often = !has_standby(scenario.roles) && !one_in(random, 4);
    if (fault.node == 0 && scenario.n_nodes > 1 && (!limits.manager_may_fail || is_often))
        fault.node = static_cast<Node>(1 + random.below(n_nodes - 1));
    if (fault.kind == FaultKind::cut)
        fault.other = static_cast<Node>((fault.node + 1 + random.below(std::max(1U, n_nodes - 1))) % n_nodes);
    fault.at_ns = draw_time(random, 1e4, 3e9);
    if (fault.is_death() && one_in(random, 2))
        fault.at_step = 1 + static_cast<std::uint64_t>(draw_time(random, 1, 5'000));
    const bool dies = fault.kind == FaultKind::crash || fault.kind == FaultKind::power;
    if (dies && fault.at_step > 0 && one_in(random, 2)) fault.after_packets = random.below(6);
    const auto timeout = static_cast<double>(scenario.peer_timeout_ns);
    fault.lasts_ns = draw_time(random, 1e5, 4 * timeout);
    if (fault.is_death() && one_in(random, 2)) fault.lasts_ns = 0;
    // the manager does not return
    if (fault.is_death() && fault.node == 0 && !has_standby(scenario.roles)) fault.lasts_ns = 0;
    fault.factor = random.uniform(1, fault.kind == FaultKind::slow_card ? 20 : 200);
    if (fault.kind == FaultKind::disk_full) fault.factor = static_cast<double>(draw_time(random, 1, 1e6));
    return fault;
}

/// Uses random numbers of its own, so that a changed farm has the same faults.
void draw_faults(FarmScenario& scenario, const Draw& limits) {
    Random random(scenario.seed, 0x6661756c74);
    if (limits.kinds.empty() || one_in(random, 6)) return;
    for (std::uint32_t n = random.below(limits.max_faults + 1); n > 0; --n) {
        const Fault fault = draw_fault(random, scenario, limits);
        if (fault.kind != FaultKind::cut || scenario.n_nodes > 1) scenario.faults.push_back(fault);
        scenario.stores |= fault.is_of_disk();
    }
}

}  // namespace

FarmScenario draw(std::uint64_t seed, const Draw& limits) {
    Random random(seed, 0x6661726d);
    FarmScenario scenario;
    scenario.seed = seed;
    scenario.n_nodes = static_cast<std::uint16_t>(1 + random.below(limits.max_nodes));
    scenario.roles = draw_roles(random, scenario.n_nodes);
    draw_standby(scenario.roles, scenario.n_nodes, seed);
    scenario.protocol = static_cast<exchange::Protocol>(random.below(3));
    scenario.n_meps = 1 + random.below(one_in(random, 4) ? 20 : 200);
    scenario.packing = 1 + random.below(6);
    scenario.n_credits = 1 + random.below(one_in(random, 3) ? 30 : 6);
    scenario.n_buffers = scenario.n_nodes + 2 + random.below(10);
    scenario.max_in_flight = 1 + random.below(one_in(random, 3) ? 64 : 8);
    scenario.payload = one_in(random, 2) ? exchange::PayloadMode::fresh : exchange::PayloadMode::prepared;
    scenario.when_full = one_in(random, 5) ? exchange::WhenFull::drop : exchange::WhenFull::wait;
    scenario.fragment_bytes = 3 + random.below(one_in(random, 4) ? 3'000 : 60);
    if (one_in(random, 4)) {
        scenario.peer_timeout_ns = draw_time(random, 5e7, 1e9);
        scenario.heartbeat_ns = scenario.peer_timeout_ns / 5;
    }
    scenario.timeout_ns = draw_time(random, 2e8, 1e9);
    draw_large_packets(scenario);
    draw_files(scenario);
    constexpr std::array some_ahead{0U, 0U, 1U, 2U, 4U, 9U};
    scenario.steps_ahead = some_ahead[Random(seed, 0x73746570).below(some_ahead.size())];
    // before the rest, which must fit to them
    for (const std::string& assignment : limits.set) set(scenario, assignment);
    if (!one_in(random, 3)) scenario.rate_hz = draw_rate(random, scenario);
    scenario.waits_for_data = scenario.rate_hz > 0 || one_in(random, 2);
    scenario.network = draw_network(random, scenario, limits);
    if (!scenario.network.reliable && scenario.peer_timeout_ns < least_where_lost_ns) {
        scenario.peer_timeout_ns = least_where_lost_ns;
        scenario.heartbeat_ns = scenario.peer_timeout_ns / 5;
    }
    scenario.step_ns = draw_time(random, 200, 20'000);
    scenario.thing_ns = draw_time(random, 100, 10'000);
    scenario.wake_ns = draw_time(random, 1'000, 200'000);
    scenario.core_gbps = one_in(random, 2) ? 50 : 5;
    if (one_in(random, 3)) {
        scenario.preemption = random.uniform(0, 0.1);
        scenario.preempted_ns = draw_time(random, 10'000, 20e6);
    }
    if (one_in(random, 2)) scenario.sink_holds_ns = draw_time(random, 1'000, 1e8);
    if (one_in(random, 2)) scenario.start_spread_ns = draw_time(random, 1'000, 1e9);
    scenario.told_ns = draw_time(random, 10'000, 2e8);
    scenario.timeout_ns = std::max(scenario.timeout_ns, patience_ns(scenario));
    for (const std::string& assignment : limits.set) set(scenario, assignment);
    NetworkConfig& network = scenario.network;
    network.buffer_bytes = std::max(network.buffer_bytes, network.switches().least_buffer_bytes());
    draw_faults(scenario, limits);
    return scenario;
}

Nanoseconds FarmScenario::limit_ns() const noexcept {
    Nanoseconds limit_ns = 60'000 * ms + start_spread_ns + recovery_ns();
    if (rate_hz > 0) limit_ns += static_cast<Nanoseconds>(static_cast<double>(n_meps * packing) / rate_hz * 1e9);
    for (const Fault& fault : faults) limit_ns += std::max(fault.at_ns, 5'000 * ms) + fault.lasts_ns + recovery_ns();
    return limit_ns + static_cast<Nanoseconds>(n_meps) * (timeout_ns + sink_holds_ns);
}

std::string FarmScenario::describe() const {
    const std::string roles_text = fmt::format("{}", fmt::join(roles, " "));
    const char* const done = network.done_when == DoneWhen::copied ? "copied" : "arrived";
    std::string text = fmt::format(
        "{} nodes ({}), {}, {} MEPs of {} events at {}, {} credits, {} buffers, timeout {:.0f} ms, peer timeout {:.0f} "
        "ms; network {:g} Gb/s, {:.3g} us + {:.3g} us, messages done when {}",
        n_nodes, roles_text,
        protocol == exchange::Protocol::shift ? fmt::format("shift {} ahead", steps_ahead)
                                              : exchange::name_of(protocol),
        n_meps, packing, rate_hz > 0 ? fmt::format("{:.3g} Hz", rate_hz) : "any rate", n_credits, n_buffers,
        static_cast<double>(timeout_ns) * 1e-6, static_cast<double>(peer_timeout_ns) * 1e-6, network.gbps,
        static_cast<double>(network.latency_ns) * 1e-3, static_cast<double>(network.jitter_ns) * 1e-3, done);
    if (network.nodes_per_leaf > 0)
        text += fmt::format(", {} spines and leaves of {} nodes, {} bytes a port", network.n_spines,
                            network.nodes_per_leaf, network.buffer_bytes);
    if (!network.reliable)
        text += fmt::format(", {:.1f} % lost, {:.1f} % doubled", 100 * network.loss, 100 * network.duplicate);
    if (stores) text += max_file_bytes > 0 ? fmt::format("; stored in files of {} bytes", max_file_bytes) : "; stored";
    if (when_full == exchange::WhenFull::drop) text += "; cards drop what finds no room";
    return text;
}

}  // namespace anello::simulate
