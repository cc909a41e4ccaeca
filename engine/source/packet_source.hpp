// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/seed.hpp"
#include "source/planned_source.hpp"

namespace anello::source {

struct PacketSourceConfig {
    // packet_boards_keys explains the fields that have no comment here.
    std::uint32_t n_boards = 4;
    double rate_hz = 1000;
    std::uint32_t n_packets = 0;        ///< per board; 0: endless
    std::uint64_t seed = default_seed;  ///< seed of the faults
    std::string host = "127.0.0.1";
    std::vector<std::uint16_t> ports{0};
    double max_behind_ms = 50;
    FaultsConfig faults = {};  ///< only loss, duplicate, reorder and dead_board
    ThreadConfig thread{.name = "boards"};
    void validate() const;  ///< Throws ConfigError.
    std::vector<BoardEndpoint> endpoints() const;
};

/// Keys of the sections run, boards and boards.faults of a chain of numbered packets.
extern const Keys<PacketSourceConfig> packet_run_keys, packet_boards_keys;
extern const Keys<FaultsConfig> packet_faults_keys;

/// Simulated boards with numbered packets: at equal intervals each board sends one, and all have the same number. The
/// datagrams depend on configuration and seed only.
class PacketSource final : public PlannedSource {
  public:
    /// Writes this packet of a board and returns its length in bytes. The sending thread calls it. Hot path: no
    /// allocation, no lock, no log, no throw.
    using Write = std::function<std::size_t(std::uint32_t board, std::uint32_t sequence, std::span<std::byte>)>;

    /// Sink, clock and page must outlive it. Counters: "source", "source.board<b>". Throws ConfigError.
    PacketSource(const PacketSourceConfig& config, Write write, PacketSink& sink, const Clock& clock,
                 CounterPage& page);
};

}  // namespace anello::source
