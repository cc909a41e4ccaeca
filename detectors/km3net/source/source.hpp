// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "km3net/source/simulation.hpp"
#include "source/planned_source.hpp"

namespace anello::km3net {

struct SourceConfig {
    LineConfig line;
    SimulationConfig simulation;
    std::string host = "127.0.0.1";
    std::vector<std::uint16_t> ports = {0};   ///< DOMs take them in turn
    std::uint32_t first_dom = 0, n_doms = 0;  ///< those that send; 0: all from first_dom on
    std::uint32_t run = 1;
    std::uint64_t n_slices = 0;      ///< 0: endless
    std::uint64_t first_slice = 0;   ///< since 1970; 0: that of the start
    std::uint32_t pool_slices = 10;  ///< different ones, made at start and sent in turn
    std::uint32_t hits_per_datagram = 670;
    bool paced = true;  ///< by the clock; else as fast as it goes
    double max_behind_ms = 50;
    source::FaultsConfig faults;  ///< loss, duplicate, reorder; dead_board, from slice dead_from_event on
    ThreadConfig thread{.name = "boards"};
    void validate() const;  ///< Throws ConfigError.
    std::vector<source::BoardEndpoint> endpoints() const;
    std::uint32_t end_dom() const noexcept { return n_doms > 0 ? first_dom + n_doms : line.n_doms; }
};

/// The boards of all DOMs: slices of a simulated sea, made at start and sent in turn. What they send follows from
/// configuration and seed alone, but for the slices' times.
class Source final : public source::PlannedSource {
  public:
    /// Sink, clock and page must outlive it. Counters: "source", "source.board<d>". Throws ConfigError.
    Source(const SourceConfig& config, source::PacketSink& sink, const Clock& clock, CounterPage& page);
};

}  // namespace anello::km3net
