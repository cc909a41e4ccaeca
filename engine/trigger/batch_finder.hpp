// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trigger/ring_finder.hpp"

namespace anello::trigger {

/// A ring finder that may fail: a device beside the processor.
class BatchFinder {
  public:
    BatchFinder() = default;
    virtual ~BatchFinder() = default;
    BatchFinder(const BatchFinder&) = delete;
    BatchFinder& operator=(const BatchFinder&) = delete;

    /// Hot path: no allocation, no lock, no log, no throw. rings: [n_events]. False: the device did not do it, rings
    /// hold anything, and the caller finds them by itself.
    virtual bool find(const HitsView& hits, EventRings* rings) noexcept = 0;

    /// Memory that the device reads without a further copy: where a caller that is free to choose puts its hits. Null
    /// where there is none.
    struct Room {
        std::uint32_t* hit_offset = nullptr;  ///< [max_events + 1]; the first must be 0
        float* x_mm = nullptr;                ///< [max_hits]
        float* y_mm = nullptr;
    };
    virtual Room room() noexcept { return {}; }
};

}  // namespace anello::trigger
