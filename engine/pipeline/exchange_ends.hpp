// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/histogram.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/mep_sink.hpp"
#include "exchange/mfp_ring.hpp"

/// What stands before a readout unit and behind a builder where that is a chain and not a generator or a file. Both
/// have threads of their own; the control thread calls what is said here, but for the faces of exchange/.
namespace anello::pipeline {

/// Fills a readout unit's MfpRing with what front ends send.
class ExchangeInput {
  public:
    virtual ~ExchangeInput() = default;
    /// `wake`, from any thread: a MFP was given, or passed. Costs nothing while the units are awake.
    virtual void start(std::function<void()> wake) = 0;
    /// The run is over and nobody takes MFPs any more: what has come is counted, then the threads end.
    virtual void stop() = 0;
    /// UDP ports, one for each of the node's boards.
    virtual std::vector<std::uint16_t> ports() const = 0;
    virtual std::map<std::string, std::string> states() const { return {}; }
    virtual std::vector<std::string> notices() { return {}; }
};

/// The stages behind a builder unit. The builder's thread gives it MEPs until close(), which the control thread calls
/// when that thread has ended: what was taken is worked off, then the threads end.
class ExchangeOutput : public exchange::MepSink {
  public:
    virtual void start() = 0;
    /// Those for whom the end of the run has waited long enough.
    virtual void give_up_subscribers() noexcept {}
    /// By name of the leg.
    virtual std::map<std::string, const LatencyHistogram*> latency() const { return {}; }
    virtual std::map<std::string, std::string> states() const { return {}; }
};

/// Called in the node's constructor. The node's part of the farm, its clock and page of counters outlive what is made.
using MakeExchangeInput = std::function<std::unique_ptr<ExchangeInput>(const exchange::ExchangeConfig&,
                                                                       exchange::MfpRing&, const Clock&, CounterPage&)>;
using MakeExchangeOutput =
    std::function<std::unique_ptr<ExchangeOutput>(const exchange::ExchangeConfig&, const Clock&, CounterPage&)>;

}  // namespace anello::pipeline
