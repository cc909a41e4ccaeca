// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/generator.hpp"
#include "exchange/messages/protocol.hpp"
#include "simulate/fault.hpp"

namespace anello::simulate {

/// A farm, what goes wrong in it, and one number for all chance: what happens is a function of it.
struct FarmScenario {
    std::uint64_t seed = 1;
    std::uint16_t n_nodes = 2;
    std::vector<std::string> roles{"all"};
    exchange::Protocol protocol = exchange::Protocol::push;
    std::uint32_t steps_ahead = 0;  ///< where protocol is shift
    std::uint64_t n_meps = 100;
    std::uint32_t packing = 4, n_credits = 4, n_buffers = 8, max_in_flight = 8;
    double rate_hz = 0;
    std::uint32_t fragment_bytes = 40;  ///< mean
    double fragment_spread = 1. / 3;    ///< standard deviation, of the mean
    double mfp_bytes = 0;               ///< of the MFP that one stands for, on cards, links and cores; 0: of itself
    exchange::WhenFull when_full = exchange::WhenFull::wait;
    exchange::PayloadMode payload = exchange::PayloadMode::fresh;
    bool stores = false;               ///< what is built, in files
    std::uint64_t max_file_bytes = 0;  ///< then: a new one once one has so many; 0: one file
    bool carries_fragments = true;     ///< else MFPs are headers and tables, of their full length
    bool waits_for_data = false;
    Nanoseconds timeout_ns = 500'000'000, peer_timeout_ns = 1'000'000'000, heartbeat_ns = 200'000'000;
    NetworkConfig network;

    // Hosts: what a step costs, and each thing that it did; from something coming until a sleeping process runs.
    Nanoseconds step_ns = 1'000, thing_ns = 500, wake_ns = 20'000;
    /// A message between nodes, and an MFP that stays on its node, beside that; on each side.
    Nanoseconds message_ns = 0, own_message_ns = 0;
    double core_gbps = 50;            ///< that a core can send and take in, together: 25 each on a node over TCP
    std::uint32_t n_cores = 0;        ///< that all nodes share; 0: each has its own
    double preemption = 0;            ///< share of the steps after which somebody else has the core
    Nanoseconds preempted_ns = 0;     ///< for less than that
    Nanoseconds sink_holds_ns = 0;    ///< an MEP, at most
    Nanoseconds start_spread_ns = 0;  ///< within which processes start
    Nanoseconds told_ns = 1'000'000;  ///< until others know a new process's address, at most
    std::vector<Fault> faults;
    bool is_judged = true;  ///< what comes out is looked at, byte by byte, and what nodes see of each other noted

    /// What the source gives is given in time, and lost by nobody but who fails: without faults, all is complete.
    bool is_lossless() const noexcept { return network.reliable && when_full == exchange::WhenFull::wait; }
    /// After this much silence everybody knows that a node is gone, and has got over it.
    Nanoseconds recovery_ns() const noexcept { return 3 * (2 * peer_timeout_ns + 2 * heartbeat_ns) + 2 * timeout_ns; }
    /// By then it must be over.
    Nanoseconds limit_ns() const noexcept;
    std::string describe() const;
};

/// What may be drawn.
struct Draw {
    std::uint16_t max_nodes = 5;
    std::vector<FaultKind> kinds{FaultKind::crash,     FaultKind::power,     FaultKind::abort,
                                 FaultKind::stop,      FaultKind::cut,       FaultKind::slow_card,
                                 FaultKind::slow_core, FaultKind::sink_full, FaultKind::source_stuck,
                                 FaultKind::disk_full, FaultKind::disk_slow};
    std::uint32_t max_faults = 4;
    bool may_lose = true;  ///< networks that lose messages, too
    bool manager_may_fail = true;
    std::vector<std::string> set;  ///< assignments (scenario_keys.hpp), made before faults are drawn
};

/// Throws ConfigError where an assignment is none.
FarmScenario draw(std::uint64_t seed, const Draw& limits);

}  // namespace anello::simulate
