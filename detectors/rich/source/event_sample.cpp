// SPDX-License-Identifier: Apache-2.0
#include "rich/source/event_sample.hpp"

#include <array>

#include "core/errors.hpp"
#include "rich/geometry.hpp"

namespace anello::rich {

void EventSample::add_event(std::span<const SampleHit> event_hits, std::span<const TruthRing> event_rings) {
    std::array<std::uint32_t, n_boards> n_hits_of_board{};
    for (const SampleHit& hit : event_hits) {
        if (hit.pmt >= n_pmts)
            throw ConfigError("pmt", "must be below 1952", std::to_string(hit.pmt), "Number PMTs as the detector does");
        if (++n_hits_of_board[board_of(hit.pmt)] > 255)
            throw ConfigError("hits", "at most 255 per event and board",
                              "256 or more in event " + std::to_string(n_events()), "Split or drop the event");
    }
    hits.insert(hits.end(), event_hits.begin(), event_hits.end());
    hit_offset.push_back(static_cast<std::uint32_t>(hits.size()));
    rings.insert(rings.end(), event_rings.begin(), event_rings.end());
    ring_offset.push_back(static_cast<std::uint32_t>(rings.size()));
}

}  // namespace anello::rich
