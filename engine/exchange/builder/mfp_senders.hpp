// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/counters/counters.hpp"
#include "exchange/builder/arrivals.hpp"
#include "exchange/exchange_counters.hpp"

namespace anello::exchange {

/// The readout units as a builder unit sees them: from which MEP on the manager says that they read out, whether they
/// are connected, and which of their messages arrived. A readout unit numbers its MFPs, and each number gets one
/// outcome, which is counted here.
class MfpSenders {
  public:
    MfpSenders(std::size_t n_readouts, Counters<BuilderCounter> counters)
        : counters_(counters), readouts_(n_readouts) {}

    // Hot path: no allocation, no lock, no log, no throw.
    /// Called before the message's outcome is counted: each number is one message, and a number that was skipped was
    /// lost.
    void note_number(std::uint16_t readout, std::uint32_t number) noexcept;
    void count(std::uint16_t readout, BuilderCounter outcome) noexcept {
        counters_.add(outcome);
        ++readouts_[readout].n_taken;
    }
    /// An MFP of this unit belongs to this MEP: the unit is live, and reads out from an earlier MEP on, or from this.
    bool reads_out(std::size_t readout, std::uint64_t mep) const noexcept {
        return readouts_[readout].is_live && readouts_[readout].first_mep <= mep;
    }
    bool is_up(std::size_t readout) const noexcept { return readouts_[readout].is_up; }
    bool is_reachable(std::size_t readout) const noexcept { return readouts_[readout].is_live && is_up(readout); }
    /// Message numbers since the last connection was made.
    const Arrivals& arrivals(std::uint16_t readout) const noexcept { return readouts_[readout].arrivals; }

    void set_live(std::uint16_t readout, bool is_live, std::uint64_t first_mep) noexcept;
    void set_connected(std::uint16_t readout, bool is_up) noexcept;
    /// Missing messages will not arrive any more.
    void settle() noexcept;

  private:
    struct Readout {
        bool is_live = false, is_up = false;
        std::uint64_t first_mep = 0;
        std::uint64_t n_taken = 0;  ///< messages counted since the connection was made
        Arrivals arrivals;
    };
    void write_off(Readout& readout) noexcept;

    Counters<BuilderCounter> counters_;
    std::vector<Readout> readouts_;
};

}  // namespace anello::exchange
