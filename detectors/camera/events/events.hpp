// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "camera/events/event.hpp"

namespace anello::camera {

/// A source of whole camera events: the groups of this process, joined, or those of a farm's nodes. One thread, the
/// events' consumer, calls all members; it may hold several views at a time.
class CameraEvents {
  public:
    virtual ~CameraEvents() = default;
    /// Hot path, both: no allocation, no lock, no log, no throw.
    virtual bool try_take(CameraEventView& view) noexcept = 0;
    /// Gives a view's memory back. Call it once for each view.
    virtual void release(const CameraEventView& view) noexcept = 0;
    /// True if no event waits to be taken.
    virtual bool is_empty() const noexcept = 0;
};

}  // namespace anello::camera
