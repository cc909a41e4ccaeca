// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "core/latency/latency_leg.hpp"
#include "exchange/builder/mep_slots.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/exchange_counters.hpp"
#include "exchange/mep_sink.hpp"
#include "fabric/fifo.hpp"

namespace anello::exchange {

/// Passes closed MEPs on to the next stage in the order in which they were closed, takes their slots back, and records
/// which MEPs the next stage has taken.
class MepOutput {
  public:
    /// The MEPs that a slot handed on: the last one, and with a standby also earlier ones that a manager may not know
    /// of.
    struct HandedOn {
        std::uint64_t mep = 0;
        std::uint16_t n_missing = 0;
        bool is_known = false;
    };

    /// All arguments must outlive the object.
    MepOutput(const ExchangeConfig& config, MepSlots& slots, MepSink& sink, const Clock& clock,
              Counters<BuilderCounter> counters, CounterPage& page);

    // Hot path: no allocation, no lock, no log, no throw.
    /// This slot was closed.
    void add(std::uint32_t slot) noexcept;
    /// Passes on as many as the next stage takes; returns their number.
    std::size_t pass_on() noexcept;
    /// Takes a slot that the next stage returns: it is over.
    bool try_take_back(std::uint32_t& slot) noexcept;
    /// When to ask the sink again, which does not notify when a slot is returned or room is free.
    Nanoseconds next_look_ns(Nanoseconds now_ns) const noexcept;

    const std::vector<HandedOn>& handed_on() const noexcept { return handed_on_; }
    /// Per MEP: from its first MFP being ready to its being built, and from its first MFP's arrival to its being built.
    const LatencyHistogram& ready_to_built() const noexcept { return ready_to_built_.run(); }
    const LatencyHistogram& first_to_built() const noexcept { return first_to_built_.run(); }

  private:
    using State = MepSlots::Slot::State;

    bool try_pass_on(std::uint32_t slot) noexcept;
    void note(std::uint32_t slot) noexcept;

    const std::uint32_t packing_;
    MepSlots& slots_;
    MepSink& sink_;
    const Clock& clock_;
    Counters<BuilderCounter> counters_;
    fabric::Fifo<std::uint32_t> ready_;  ///< to be given to the sink
    std::size_t n_with_sink_ = 0;
    std::vector<HandedOn> handed_on_;  ///< the last one of each slot, by slot; then earlier ones, modulo
    std::uint64_t n_handed_on_ = 0;
    LatencyLeg &ready_to_built_, &first_to_built_;  ///< in the counter page
};

}  // namespace anello::exchange
