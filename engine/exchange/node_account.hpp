// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "exchange/station/station.hpp"

namespace anello::exchange {

/// The numbers of messages and packets that a node knows, for a ledger that must balance even if nodes died.
struct NodeAccount {
    struct Builder {
        EventManager::BuilderAccount reported;
        bool is_lost = false;
        std::vector<std::uint64_t> open_meps{};  ///< assigned to it, outcome never reported by it
    };
    std::uint64_t life = 0;
    /// By builder's node, for the last connection: number of the last MFP, whether the connection lasted to the end,
    /// MFPs in flight then, short_life() of the process there.
    std::map<Node, std::array<std::uint64_t, 4>> sent_to;
    /// By readout unit's node, in the same way: newest number, numbers received, numbers given up, whether it lasted,
    /// life.
    std::map<Node, std::array<std::uint64_t, 5>> come_from;
    std::map<std::uint64_t, std::uint16_t> handed_on;  ///< the last packet of each slot: its number of missing sources
    std::vector<Builder> builders;                     ///< at the manager: the connected ones, then those it lost
};

/// Call it when the node's thread has ended and Station::settle() was called.
NodeAccount account_of(const Station& station);

}  // namespace anello::exchange
