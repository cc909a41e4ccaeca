// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "exchange/event_manager/station.hpp"

namespace anello::exchange {

/// What a node knows by identity, for a ledger that is to close where nodes died: numbers of messages and of packets.
struct NodeAccount {
    struct Builder {
        EventManager::BuilderAccount told;
        bool is_lost = false;
        std::vector<std::uint64_t> untold_meps{};  ///< it was assigned these, and told nothing of them
    };
    std::uint64_t life = 0;
    /// By builder's node, over the last connection with it: number of the last MFP, whether it lasted to the end, how
    /// many were in flight then, short_life() of the process there.
    std::map<Node, std::array<std::uint64_t, 4>> sent_to;
    /// By readout unit's node, in the same way: newest number, numbers come, numbers given up, whether it lasted, life.
    std::map<Node, std::array<std::uint64_t, 5>> come_from;
    std::map<std::uint64_t, std::uint16_t> handed_on;  ///< the last packet of each slot: sources that it lacks
    std::vector<Builder> builders;                     ///< at the manager: those that are there, then those it lost
};

/// Once its thread has ended, and Station::settle() was called.
NodeAccount account_of(const Station& station);

}  // namespace anello::exchange
