// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/clock.hpp"

namespace anello::source {

/// Runs a source to its end as fast as the machine can, in the time of `clock`, which must be the source's own:
/// every datagram gets the time stamp that it would have in real time. For files, where no receiver needs to keep
/// up.
template <typename Source>
void run_in_simulated_time(Source& source, ManualClock& clock, Nanoseconds step_ns = 10'000) noexcept {
    while (source.running())
        if (source.do_work() == 0) clock.advance(step_ns);
}

}  // namespace anello::source
