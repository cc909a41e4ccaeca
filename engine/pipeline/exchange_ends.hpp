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

/// The parts of a chain before a readout unit and behind a builder, where the exchange stands between two of its
/// stages.
namespace anello::pipeline {

inline constexpr std::uint32_t default_frame_ticks = 256;  // of an input merged by time

/// Fills a readout unit's MfpRing with what front ends send.
class ExchangeInput {
  public:
    virtual ~ExchangeInput() = default;
    /// Once. They drain when the run is over and nobody takes MFPs any more: what has come is counted.
    virtual ChainPart part() = 0;
    /// UDP ports, one for each of the node's boards.
    virtual std::vector<std::uint16_t> ports() const = 0;
};

/// Takes what a builder unit gives, by the builder's thread. The stages behind drain when that thread has ended.
class ExchangeOutput : public exchange::MepSink {
  public:
    virtual ChainPart part() = 0;  ///< Once.
};

/// Called in the node's constructor. The node's part of the farm, its clock and page of counters outlive what is made.
using MakeExchangeInput = std::function<std::unique_ptr<ExchangeInput>(const exchange::ExchangeConfig&,
                                                                       exchange::MfpRing&, const Clock&, CounterPage&)>;
using MakeExchangeOutput =
    std::function<std::unique_ptr<ExchangeOutput>(const exchange::ExchangeConfig&, const Clock&, CounterPage&)>;

}  // namespace anello::pipeline
