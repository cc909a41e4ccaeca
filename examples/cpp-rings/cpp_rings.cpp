// SPDX-License-Identifier: Apache-2.0
// Simulates events of the NA62 RICH, finds their rings and prints how many.
#include <cstdio>
#include <vector>

#include "rich/geometry.hpp"
#include "rich/rings/ring_finder.hpp"
#include "rich/source/simulation.hpp"

int main() {
    using namespace anello;
    const auto config = rich::RichSimulationConfig{};
    const rich::EventSample sample = rich::RichSimulation(config).simulate(1000);
    const auto positions = rich::fit_positions(config.fit_frame);
    std::vector<float> x_mm, y_mm;
    for (const auto& hit : sample.hits) {
        x_mm.push_back(positions[hit.pmt].x_mm);
        y_mm.push_back(positions[hit.pmt].y_mm);
    }
    std::vector<rich::EventRings> rings(sample.n_events());
    const rich::RingFinder finder(rich::RingFinderConfig{});
    finder.find({sample.n_events(), sample.hit_offset.data(), x_mm.data(), y_mm.data()}, rings.data());
    std::size_t n_rings = 0;
    for (const auto& event : rings) n_rings += event.n_rings;
    std::printf("%u events, %zu true rings, %zu rings found\n", sample.n_events(), sample.rings.size(), n_rings);
    return n_rings > 0 ? 0 : 1;
}
