// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/errors.hpp"
#include "pipeline/exchange_ends.hpp"

namespace anello::rich {

/// Maps the RICH's time to the exchange's events: a burst is cut into time frames, which are the events. Each
/// multi-event packet holds `packing` frames, and each burst has meps_per_burst packets.
///
/// An event of the detector may lie across the edge of a packet. Each packet therefore also has the fragments from
/// `overlap_ticks` before its begin to `window_ticks` after its end. Merging begins in the overlap; an event belongs to
/// the packet that has its earliest fragment. Two neighbouring packets agree on this when the overlap contains a pause
/// longer than the window.
struct RichFrames {
    std::uint32_t frame_ticks = pipeline::default_frame_ticks;
    std::uint32_t packing = 156;
    std::uint32_t meps_per_burst = 1;
    std::uint32_t first_burst_id = 0;
    std::uint32_t window_ticks = 1;

    /// A burst number this far ahead of the first is an error.
    static constexpr std::uint32_t max_bursts = 1U << 20;

    std::uint64_t mep_ticks() const noexcept { return std::uint64_t{frame_ticks} * packing; }
    std::uint64_t burst_ticks() const noexcept { return mep_ticks() * meps_per_burst; }
    std::uint32_t overlap_ticks() const noexcept { return 8 * (window_ticks + 1); }

    /// Returns false when no packet belongs to this burst.
    bool knows(std::uint32_t burst_id) const noexcept { return burst_id - first_burst_id < max_bursts; }
    std::uint64_t first_mep(std::uint32_t burst_id) const noexcept {
        return std::uint64_t{burst_id - first_burst_id} * meps_per_burst;
    }
    std::uint32_t burst_id(std::uint64_t mep) const noexcept {
        return first_burst_id + static_cast<std::uint32_t>(mep / meps_per_burst);
    }
    /// Begin of the packet in ticks from the begin of its burst.
    std::uint64_t begin_ticks(std::uint64_t mep) const noexcept { return mep % meps_per_burst * mep_ticks(); }

    void validate() const {  ///< Throws ConfigError.
        if (frame_ticks == 0 || packing == 0 || meps_per_burst == 0 || mep_ticks() < 4 * overlap_ticks())
            throw ConfigError("exchange.packing", "must make a multi-event packet four times as long as its overlap",
                              std::to_string(mep_ticks()) + " and " + std::to_string(overlap_ticks()) + " ticks",
                              "Raise it, or input.frame_ticks.");
        if (burst_ticks() >= (std::uint64_t{1} << 32))
            throw ConfigError("source.burst_ms", "must leave a burst within 32-bit timestamps, 107 s",
                              std::to_string(burst_ticks()) + " ticks", "Lower it.");
    }
};

}  // namespace anello::rich
