// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/generator.hpp"
#include "exchange/messages/protocol.hpp"
#include "simulate/fault.hpp"

namespace anello::simulate {

/// A farm, its faults, and one seed for all random numbers: the run depends on nothing else.
struct FarmScenario {
    std::uint64_t seed = 1;
    std::uint16_t n_nodes = 2;
    std::vector<std::string> roles{"all"};
    exchange::Protocol protocol = exchange::Protocol::push;
    std::uint32_t steps_ahead = 0;  ///< used by protocol shift
    std::uint64_t n_meps = 100;
    std::uint32_t packing = 4, n_credits = 4, n_buffers = 8, max_in_flight = 8;
    double rate_hz = 0;
    std::uint32_t fragment_bytes = 40;  ///< mean
    double fragment_spread = 1. / 3;    ///< standard deviation, as a fraction of the mean
    /// size of the real MFP that a simulated one represents, on cards, links and cores; 0: its own size
    double mfp_bytes = 0;
    exchange::WhenFull when_full = exchange::WhenFull::wait;
    exchange::PayloadMode payload = exchange::PayloadMode::fresh;
    bool stores = false;               ///< the MEPs that were built, in files
    std::uint64_t max_file_bytes = 0;  ///< then: size after which a new file begins; 0: one file
    bool carries_fragments = true;     ///< false: MFPs are headers and tables, but count with their full length
    bool waits_for_data = false;
    Nanoseconds timeout_ns = 500'000'000, peer_timeout_ns = 1'000'000'000, heartbeat_ns = 200'000'000;
    NetworkConfig network;

    // Hosts: time per step, time per thing done, and time from an arrival until a sleeping process runs.
    Nanoseconds step_ns = 1'000, thing_ns = 500, wake_ns = 20'000;
    /// Additional time per message between nodes, and per MFP that stays on its node; on each side.
    Nanoseconds message_ns = 0, own_message_ns = 0;
    /// rate at which a core can send and receive, in total: 25 each on a node over TCP
    double core_gbps = 50;
    std::uint32_t n_cores = 0;        ///< shared by all nodes; 0: each node has its own
    double preemption = 0;            ///< fraction of the steps after which another program gets the core
    Nanoseconds preempted_ns = 0;     ///< longest time of that
    Nanoseconds sink_holds_ns = 0;    ///< longest time for which the sink holds an MEP
    Nanoseconds start_spread_ns = 0;  ///< time within which all processes start
    Nanoseconds told_ns = 1'000'000;  ///< longest delay until others know a new process's address
    std::vector<Fault> faults;
    bool is_judged = true;  ///< the output is checked byte by byte, and each node's view of the others is noted

    /// Sources wait for room, and only failing nodes lose data: without faults, all packets are complete.
    bool is_lossless() const noexcept { return network.reliable && when_full == exchange::WhenFull::wait; }
    /// After a silence of this length all nodes know that a node is gone, and have recovered.
    Nanoseconds recovery_ns() const noexcept { return 3 * (2 * peer_timeout_ns + 2 * heartbeat_ns) + 2 * timeout_ns; }
    /// The run must be over by then.
    Nanoseconds limit_ns() const noexcept;
    std::string describe() const;
};

/// Limits for drawn scenarios.
struct Draw {
    std::uint16_t max_nodes = 5;
    std::vector<FaultKind> kinds{FaultKind::crash,     FaultKind::power,     FaultKind::abort,
                                 FaultKind::stop,      FaultKind::cut,       FaultKind::slow_card,
                                 FaultKind::slow_core, FaultKind::sink_full, FaultKind::source_stuck,
                                 FaultKind::disk_full, FaultKind::disk_slow};
    std::uint32_t max_faults = 4;
    bool may_lose = true;  ///< also draws networks that lose messages
    bool manager_may_fail = true;
    std::vector<std::string> set;  ///< assignments (scenario_keys.hpp), made before faults are drawn
};

/// Throws ConfigError if an assignment is invalid.
FarmScenario draw(std::uint64_t seed, const Draw& limits);

}  // namespace anello::simulate
