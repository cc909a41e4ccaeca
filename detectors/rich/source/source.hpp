// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/source/event_pool.hpp"
#include "rich/source/source_config.hpp"
#include "source/planned_source.hpp"

namespace anello::rich {

/// The front ends of the RICH: all boards of a configuration, sending a pool's events in turn with new times. Which
/// events, times and packets are made follows from configuration and seed alone, not from when the thread runs. A stop
/// ends the burst, end-of-burst markers included.
class RichSource final : public source::PlannedSource {
  public:
    /// Pool, sink, clock and page must outlive the source. Throws ConfigError.
    RichSource(const RichSourceConfig& config, const EventPool& pool, source::PacketSink& sink, const Clock& clock,
               CounterPage& page);
};

}  // namespace anello::rich
