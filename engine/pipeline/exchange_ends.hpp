// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/mep_sink.hpp"
#include "exchange/mfp_ring.hpp"
#include "pipeline/stage.hpp"

/// The parts of a chain before a readout unit and after a builder, for chains with the exchange between two stages.
namespace anello::pipeline {

inline constexpr std::uint32_t default_frame_ticks = 256;  // for an input merged by time

/// Fills a readout unit's MfpRing with the data of front ends.
class ExchangeInput {
  public:
    virtual ~ExchangeInput() = default;
    /// Called once. The stages drain when the run is over and MFPs are no longer taken, so that all received data is
    /// counted.
    virtual ChainPart part() = 0;
    /// UDP ports, one for each of the node's boards.
    virtual std::vector<std::uint16_t> ports() const = 0;
};

/// Takes built events from a builder unit, on the builder's thread. Its stages drain when that thread has ended.
class ExchangeOutput : public exchange::MepSink {
  public:
    virtual ChainPart part() = 0;  ///< Called once.
};

/// The node's constructor calls it. The node's part of the farm, its clock and counter page outlive the result.
using MakeExchangeInput = std::function<std::unique_ptr<ExchangeInput>(const exchange::ExchangeConfig&,
                                                                       exchange::MfpRing&, const Clock&, CounterPage&)>;
using MakeExchangeOutput =
    std::function<std::unique_ptr<ExchangeOutput>(const exchange::ExchangeConfig&, const Clock&, CounterPage&)>;

}  // namespace anello::pipeline
