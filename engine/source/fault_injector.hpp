// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/words.hpp"
#include "source/random.hpp"

namespace anello::source {

/// Deliberate faults, as shares of the data packets. A packet suffers at most one fault.
struct FaultsConfig {
    double loss = 0, duplicate = 0, reorder = 0, corrupt = 0, truncate = 0;
    std::int32_t dead_board = -1;       ///< number of a board that stops sending, also its markers; -1: none
    std::uint32_t dead_from_burst = 1;  ///< if events come in bursts, which count from 0
    std::uint64_t dead_from_event = 0;  ///< otherwise: event of the run, from 0
    void validate(const Keys<FaultsConfig>& keys, std::uint32_t n_boards) const;  ///< Throws ConfigError.
};

enum class Fault : std::uint8_t { none, loss, duplicate, reorder, corrupt, truncate };

/// Decides for the packets of one board, one after the other. The decision depends only on seed, board and packet
/// number.
class FaultInjector {
  public:
    FaultInjector(const FaultsConfig& config, std::uint64_t seed, std::uint32_t board) noexcept;

    // Hot path: no allocation, no lock, no log, no throw.
    Fault next() noexcept;
    /// Changes one byte.
    void corrupt(std::span<std::byte> datagram) noexcept;
    /// Returns a length of at least 1 byte and below length_bytes (a datagram has at least 2 bytes).
    std::size_t truncated_length(std::size_t length_bytes) noexcept;

  private:
    FaultsConfig config_;
    Random random_;
    bool any_;
};

}  // namespace anello::source
