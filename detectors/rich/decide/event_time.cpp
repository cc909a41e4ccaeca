// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/event_time.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "core/clock.hpp"

namespace anello::rich {
namespace {

constexpr int tick_fine = 256;
constexpr int width_fine = static_cast<int>(event_time_width_ns / fine_time_ns);
/// The range is the tick and half a width on both sides, because hits of a particle at the tick's edge reach this far.
constexpr int begin_fine = -width_fine / 2, end_fine = tick_fine + width_fine / 2, n_steps = end_fine - begin_fine;

/// Begin of the window with most hits, in steps from begin_fine; far outside when no hit is near the tick.
int fullest_window(std::span<const std::int16_t> hit_time_fine) noexcept {
    std::array<std::uint16_t, n_steps> n_hits{};
    for (const int time : hit_time_fine)
        if (time >= begin_fine && time < end_fine) ++n_hits[static_cast<std::size_t>(time - begin_fine)];
    int best = -1;
    std::uint32_t inside = 0, most = 0;
    for (int end = 0; end < n_steps; ++end) {
        inside += n_hits[static_cast<std::size_t>(end)];
        if (end >= width_fine) inside -= n_hits[static_cast<std::size_t>(end - width_fine)];
        if (inside <= most) continue;
        most = inside;
        best = end - width_fine + 1;
    }
    return most > 0 ? best : -n_steps;
}

/// Time of the event from the tick's begin; -1 when there is no hit.
int event_time(std::span<const std::int16_t> hit_time_fine) noexcept {
    const int first = fullest_window(hit_time_fine) + begin_fine;
    int n_hits = 0, sum = 0;
    for (const int time : hit_time_fine) {
        const bool is_inside = time >= first && time < first + width_fine;
        n_hits += is_inside ? 1 : 0;
        sum += is_inside ? time : 0;
    }
    return n_hits > 0 ? std::clamp(sum / n_hits, 0, tick_fine - 1) : -1;
}

}  // namespace

void find_event_times(const events::BatchColumns& batch, std::uint32_t n_events) noexcept {
    for (std::uint32_t event = 0; event < n_events; ++event) {
        const std::uint32_t begin = batch.hit_offset[event], end = batch.hit_offset[event + 1];
        const std::span<std::int16_t> hits(batch.hit_time_fine + begin, end - begin);
        const int time = event_time(hits);
        if (time < 0) continue;
        batch.fine_time[event] = static_cast<std::uint8_t>(time);
        for (std::int16_t& hit : hits) hit = static_cast<std::int16_t>(std::max(hit - time, -32767));
    }
}

}  // namespace anello::rich
