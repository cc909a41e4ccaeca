// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/counters/counters.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/exchange_counters.hpp"
#include "wire/mfp.hpp"

namespace anello::exchange {

/// Checks MFPs that arrived whole: header and table of each, and a share of the fragments byte by byte.
class MfpCheck {
  public:
    MfpCheck(const ExchangeConfig& config, Counters<BuilderCounter> counters, CounterPage& page)
        : run_id_(config.run_id),
          packing_(config.packing),
          n_readouts_(config.farm.readouts.size()),
          verify_share_(config.verify_share),
          counters_(counters),
          verdicts_(page.add_block<wire::Verdict>("builder.mfp")) {}

    // Hot path: no allocation, no lock, no log, no throw.
    /// The outcome of an MFP, not yet counted: mfps_received, mfps_malformed or mfps_wrong. Fills `view` if it is
    /// mfps_received.
    BuilderCounter outcome_of(std::uint16_t readout, std::uint64_t mep, std::span<const std::byte> bytes,
                              wire::mfp::PacketView& view) noexcept;
    void verify_share(const wire::mfp::PacketView& view, std::uint64_t mep) noexcept;

  private:
    const std::uint32_t run_id_, packing_;
    const std::size_t n_readouts_;
    const double verify_share_;
    Counters<BuilderCounter> counters_;
    Counters<wire::Verdict> verdicts_;
    double verify_due_ = 0;  ///< fragments still to be verified
};

}  // namespace anello::exchange
