// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "camera/source/pool.hpp"
#include "source/planned_source.hpp"

namespace anello::camera {

/// The front-end boards of a camera, or some of them: at each trigger, every board sends one fragment of an event of
/// the pool. Configuration and seed alone determine the triggers, their times and numbers, and the data, not when the
/// thread runs or which boards a process has; timestamps count from the wall time of the start. A stop ends the run
/// after the event that is being sent, with end-of-run markers.
class CameraSource final : public source::PlannedSource {
  public:
    /// Pool (whose headers it writes), sink, clock and page must outlive the source. Throws ConfigError.
    CameraSource(const CameraSourceConfig& config, CameraPool& pool, source::PacketSink& sink, const Clock& clock,
                 CounterPage& page);
};

}  // namespace anello::camera
