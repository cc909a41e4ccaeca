// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/source/event_pool.hpp"
#include "rich/source/source_config.hpp"
#include "source/planned_source.hpp"

namespace anello::rich {

/// The front ends of the RICH: all boards of a configuration send a pool's events in turn, with new times.
/// Configuration and seed alone determine events, times and packets, not the times at which the thread runs. A stop
/// ends the burst with its end-of-burst markers.
class RichSource final : public source::PlannedSource {
  public:
    /// Pool, sink, clock and page must outlive the source. Throws ConfigError.
    RichSource(const RichSourceConfig& config, const EventPool& pool, source::PacketSink& sink, const Clock& clock,
               CounterPage& page);
};

}  // namespace anello::rich
