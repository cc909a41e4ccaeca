// SPDX-License-Identifier: Apache-2.0
#include "rings/na62_sample.hpp"

#include <cstddef>

#include "rich/geometry.hpp"
#include "rich/source/simulation.hpp"

namespace rings {

using namespace anello::rich;

Sample simulate_na62(int n_rings, std::uint64_t seed, int n_events) {
    RichSimulationConfig config;
    config.seed = seed;
    config.out_of_time_rings = 0;
    if (n_rings >= 0) {
        config.ring_shares.assign(static_cast<std::size_t>(n_rings) + 1, 0);
        config.ring_shares.back() = 1;
    }
    const EventSample events = RichSimulation(config).simulate(static_cast<std::uint32_t>(n_events));
    const auto position = fit_positions(config.fit_frame);
    Sample sample;
    sample.hit_offset = events.hit_offset;
    sample.ring_offset = events.ring_offset;
    for (const SampleHit& hit : events.hits) {
        sample.x_mm.push_back(position[hit.pmt].x_mm);
        sample.y_mm.push_back(position[hit.pmt].y_mm);
        sample.label.push_back(hit.ring);
    }
    for (const TruthRing& ring : events.rings)
        sample.ring.push_back({ring.x_mm, ring.y_mm, ring.radius_mm, ring.n_hits});
    return sample;
}

}  // namespace rings
