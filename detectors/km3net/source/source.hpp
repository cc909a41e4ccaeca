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
    std::vector<std::uint16_t> ports = {0};   ///< DOMs use the ports in turn
    std::uint32_t first_dom = 0, n_doms = 0;  ///< DOMs that send; n_doms = 0: all from first_dom on
    std::uint32_t run = 1;
    std::uint64_t n_slices = 0;      ///< 0: no limit
    std::uint64_t first_slice = 0;   ///< number of slices since 1970; 0: that of the start
    std::uint32_t pool_slices = 10;  ///< number of different slices, made at start and sent in turn
    std::uint32_t hits_per_datagram = 670;
    bool paced = true;  ///< send by the clock; false: as fast as possible
    double max_behind_ms = 50;
    source::FaultsConfig faults;  ///< loss, duplicate, reorder; dead_board from slice dead_from_event on
    ThreadConfig thread{.name = "boards"};
    void validate() const;  ///< Throws ConfigError.
    std::vector<source::BoardEndpoint> endpoints() const;
    std::uint32_t end_dom() const noexcept { return n_doms > 0 ? first_dom + n_doms : line.n_doms; }
};

/// Simulates the boards of all DOMs: it makes slices of a simulated sea at start, and sends them in turn. Configuration
/// and seed alone determine what it sends, except for the slices' times.
class Source final : public source::PlannedSource {
  public:
    /// Sink, clock and page must outlive the source. Counters: "source", "source.board<d>". Throws ConfigError.
    Source(const SourceConfig& config, source::PacketSink& sink, const Clock& clock, CounterPage& page);
};

}  // namespace anello::km3net
