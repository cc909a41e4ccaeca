// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "exchange/protocol.hpp"

namespace anello::plan {

/// How a message finds its way from one leaf switch to another.
/// destination: the receiver's index alone chooses the spine switch (InfiniBand's static routes).
/// hashed: sender and receiver choose it by chance, once (ECMP). spread: every packet takes the emptiest way.
enum class Routing : std::uint8_t { destination, hashed, spread };

/// One farm and one load. Times are in nanoseconds, rates in bytes per nanosecond (so 12.5 is 100 Gb/s).
struct PlanConfig {
    // --- The exchange
    std::uint32_t n_nodes = 2;
    exchange::Protocol protocol = exchange::Protocol::push;
    std::uint32_t n_meps = 1000;     ///< multi-event packets in all; rounded up to whole rounds
    double message_bytes = 125'000;  ///< one readout unit's part of a MEP, with all that the wire adds
    double mep_interval_ns = 0;      ///< a MEP becomes ready at each readout unit; 0: as fast as there is room
    std::uint32_t n_credits = 20;    ///< MEPs that a builder has room for
    std::uint32_t n_buffers = 64;    ///< messages that a readout unit has room for
    std::uint32_t n_sends = 4;       ///< messages that a readout unit has under way at once
    // --- The nodes
    double per_message_ns = 0;    ///< processor time of each side for a message, and its latency
    double per_byte_ns = 0;       ///< processor time of each side for a byte of a message
    double per_control_ns = 0;    ///< processor time of each side for a control message
    std::uint32_t n_threads = 1;  ///< 1: one thread sends and receives; 2: one for each
    std::uint32_t n_cores = 0;    ///< all nodes share these; 0: each has a machine of its own
    double jitter_ns = 0;         ///< standard deviation of what delays a message's start (half a normal)
    double memory_rate = 100;     ///< of a message to the node's own builder
    // --- The network
    double link_rate = 12.5;    ///< of a node's card, in each direction; 0: none, all through memory
    double uplink_rate = 12.5;  ///< of a cable between leaf and spine switches
    double latency_ns = 1000;   ///< of the wire, one way
    std::uint32_t nodes_per_leaf = 20;
    std::uint32_t n_spines = 20;
    Routing routing = Routing::destination;
    std::uint32_t n_failed_links = 0;  ///< cables between leaf and spine that are cut, chosen by the seed
    // --- The simulation
    std::uint64_t seed = 1;
    double grain_ns = 0;  ///< events nearer than this happen at once

    void validate() const;  ///< Throws ConfigError.

    std::uint32_t n_leaves() const { return (n_nodes + nodes_per_leaf - 1) / nodes_per_leaf; }
    /// Processor time of one side for one message, requests of the pull protocol included.
    double processor_ns() const;
};

/// Reads lines key=value, as the members are called. Throws ConfigError.
PlanConfig read_config(std::istream& input);

}  // namespace anello::plan
