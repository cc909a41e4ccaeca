// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulate/simulated_threads.hpp"
#include "simulate/simulated_wire.hpp"
#include "source/fault_injector.hpp"

/// What chains of one node in virtual time have in common, whatever the detector: what befalls them, which seeds, and
/// what is told of findings.
namespace anello::simulate {

struct ChainTroubles {
    std::uint64_t seed = 1;
    source::FaultsConfig faults{};
    WireConfig wire{};
    HostConfig host{}, front_ends{};
    // Once in the run, 0 long: not at all.
    Nanoseconds stop_at_ns = 0, stop_ns = 0;             ///< the node's process stands still
    Nanoseconds cut_at_ns = 0, cut_ns = 0, hold_ns = 0;  ///< a board's link is cut, or holds what it has
    std::uint32_t cut_board = 0;

    bool is_link_disturbed() const noexcept { return cut_ns + hold_ns > 0; }
};

/// How much of each, at most.
struct TroubleLimits {
    std::uint32_t n_boards = 1, n_steps = 1;  ///< dead boards are so from one of the first n_steps on
    double jitter_ms = 0.2, begin_ms = 40, link_ms = 30;
    std::uint32_t least_buffer_bytes = 10'000, more_buffer_bytes = 200'000;
    double loss = 0.1, damage = 0.1;
};

inline void draw(ChainTroubles& troubles, const TroubleLimits& limits, source::Random& dice) {
    const auto one_in = [&](std::uint32_t n) { return dice.below(n) == 0; };
    const auto up_to_ns = [&](double most_ms) { return static_cast<Nanoseconds>(dice.uniform() * most_ms * 1e6); };
    troubles.wire.latency_ns = 1 + up_to_ns(0.2);
    troubles.wire.jitter_ns = up_to_ns(limits.jitter_ms);
    troubles.host.n_cores = 1 + dice.below(4);
    if (one_in(4)) troubles.wire.buffer_bytes = limits.least_buffer_bytes + dice.below(limits.more_buffer_bytes);
    if (one_in(3)) troubles.faults.loss = dice.uniform() * limits.loss;
    if (one_in(4)) troubles.faults.duplicate = dice.uniform() * 0.1;
    if (one_in(4)) troubles.faults.reorder = dice.uniform() * 0.1;
    if (one_in(4)) troubles.faults.corrupt = dice.uniform() * limits.damage;
    if (one_in(6)) troubles.faults.truncate = dice.uniform() * limits.damage;
    if (one_in(6)) troubles.faults.dead_board = static_cast<std::int32_t>(dice.below(limits.n_boards));
    troubles.faults.dead_from_event = troubles.faults.dead_from_burst = dice.below(limits.n_steps);
    if (one_in(4)) troubles.host.preempted_share = dice.uniform() * 0.02;
    troubles.host.preempted_ns = up_to_ns(5);
    troubles.stop_at_ns = up_to_ns(limits.begin_ms);
    if (one_in(4)) troubles.stop_ns = up_to_ns(200);
    troubles.cut_board = dice.below(limits.n_boards);
    troubles.cut_at_ns = up_to_ns(limits.begin_ms);
    if (one_in(6)) troubles.cut_ns = up_to_ns(limits.link_ms);
    if (one_in(6)) troubles.hold_ns = up_to_ns(limits.link_ms);
}

inline std::string describe(const ChainTroubles& of) {
    const source::FaultsConfig& faults = of.faults;
    return fmt::format(
        "{} cores; wire {} ns + {} ns, {} bytes; loss {:.3f}, duplicate {:.3f}, reorder {:.3f}, corrupt {:.3f}, "
        "truncate {:.3f}, board {} dead from {}; preempted {:.4f} up to {} ns; stops at {} for {} ns; board {} at {} "
        "cut for {}, held for {} ns",
        of.host.n_cores, of.wire.latency_ns, of.wire.jitter_ns, of.wire.buffer_bytes, faults.loss, faults.duplicate,
        faults.reorder, faults.corrupt, faults.truncate, faults.dead_board, faults.dead_from_event,
        of.host.preempted_share, of.host.preempted_ns, of.stop_at_ns, of.stop_ns, of.cut_board, of.cut_at_ns, of.cut_ns,
        of.hold_ns);
}

/// Each millisecond.
inline void act(const ChainTroubles& troubles, SimulatedThreads& host, SimulatedWire& wire, const World& world) {
    const Nanoseconds now_ns = world.monotonic_ns(), since_ns = now_ns - World::begin_ns;
    const auto is_due = [since_ns](Nanoseconds at_ns) { return at_ns <= since_ns && since_ns < at_ns + 1'000'000; };
    if (troubles.stop_ns > 0 && is_due(troubles.stop_at_ns)) host.stop_until(now_ns + troubles.stop_ns);
    if (!is_due(troubles.cut_at_ns)) return;
    if (troubles.cut_ns > 0) wire.cut_until(troubles.cut_board, now_ns + troubles.cut_ns);
    if (troubles.hold_ns > 0) wire.hold_until(troubles.cut_board, now_ns + troubles.hold_ns);
}

struct ChainSeeds {
    std::uint64_t first, n;
};

/// New ones; or ANELLO_CHAIN_SEEDS=FIRST:N. Throws std::invalid_argument.
inline ChainSeeds chain_seeds(std::uint64_t n_usually) {
    const char* const given = std::getenv("ANELLO_CHAIN_SEEDS");
    if (given == nullptr) return {std::random_device{}(), n_usually};
    const std::string wanted(given);
    const std::size_t colon = wanted.find(':');
    if (colon == std::string::npos) throw std::invalid_argument("ANELLO_CHAIN_SEEDS must be FIRST:N, not " + wanted);
    return {std::stoull(wanted.substr(0, colon)), std::stoull(wanted.substr(colon + 1))};
}

inline std::string first_of(const std::vector<std::string>& findings) {
    std::string all;
    for (std::size_t i = 0; i < std::min<std::size_t>(findings.size(), 5); ++i) all += findings[i] + "\n";
    return all;
}

/// One chain for each seed. draw_scenario, describe and judge are found by their arguments.
template <typename Chain, typename DrawScenario>
void expect_all_explained(std::uint64_t n_usually, DrawScenario draw_scenario) {
    const auto [first, n_seeds] = chain_seeds(n_usually);
    std::uint64_t n_events = 0;
    for (std::uint64_t seed = first; seed < first + n_seeds; ++seed) {
        const auto scenario = draw_scenario(seed);
        Chain chain(scenario);
        chain.run();
        n_events += chain.events().size();
        EXPECT_EQ(first_of(judge(chain, scenario)), "") << describe(scenario);
    }
    std::cout << n_seeds << " chains, seeds from " << first << ", " << n_events << " events\n";
}

}  // namespace anello::simulate
