// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/plugin_runner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace anello::rich {
namespace {

static_assert(ANELLO_MAX_RINGS == max_rings_per_event);

/// Also false for NaN.
bool is_near(float coordinate_mm) noexcept {
    return std::abs(coordinate_mm) <= max_coordinate_mm;
}

bool is_ring(const anello_ring& ring) noexcept {
    return is_near(ring.x_mm) && is_near(ring.y_mm) && ring.radius_mm > 0 && is_near(ring.radius_mm);
}

/// In a packet, a non-zero high byte distinguishes a primitive from a timestamp.
bool is_primitive(std::uint32_t id) noexcept {
    return id == 0 || (id >= 0x100 && id <= 0xFFFF);
}

}  // namespace

PluginRunner::PluginRunner(std::unique_ptr<Plugin> plugin, const events::BatchShape& shape)
    : plugin_(std::move(plugin)),
      n_rings_(new std::uint32_t[shape.max_events]()),
      primitive_id_(new std::uint32_t[shape.max_events]()),
      ring_(new anello_ring[std::size_t{shape.max_events} * max_rings_per_event]()) {}

/// Clears the rings of an earlier batch: a ring that the plugin does not write has radius 0, which means no ring.
void PluginRunner::clear(std::uint32_t n_events) noexcept {
    std::fill_n(n_rings_.get(), n_events, 0U);
    std::fill_n(primitive_id_.get(), n_events, ANELLO_PRIMITIVE_DEFAULT);
    std::fill_n(ring_.get(), std::size_t{n_events} * max_rings_per_event, anello_ring{});
}

PluginFaults PluginRunner::decide(const anello_trigger_batch& batch, const PrimitiveByRings& primitive_by_rings,
                                  EventRings* rings, std::uint16_t* primitive_id) noexcept {
    PluginFaults faults;
    clear(batch.n_events);
    anello_trigger_decisions out{.struct_size = sizeof(out),
                                 .reserved = 0,
                                 .n_rings = n_rings_.get(),
                                 .ring = ring_.get(),
                                 .primitive_id = primitive_id_.get()};
    if (!plugin_->decide(batch, out)) {
        ++faults.n_failed_batches;
        clear(batch.n_events);
    }
    for (std::uint32_t event = 0; event < batch.n_events; ++event) {
        take_rings(event, rings[event], faults);
        const std::uint32_t id = primitive_id_[event];
        const bool chosen = id != ANELLO_PRIMITIVE_DEFAULT && is_primitive(id);
        faults.n_invalid_primitives += id != ANELLO_PRIMITIVE_DEFAULT && !chosen ? 1U : 0U;
        primitive_id[event] = chosen ? static_cast<std::uint16_t>(id) : primitive_by_rings[rings[event].n_rings];
    }
    return faults;
}

void PluginRunner::take_rings(std::uint32_t event, EventRings& rings, PluginFaults& faults) const noexcept {
    rings.n_rings = 0;
    rings.flags = 0;
    if (n_rings_[event] > max_rings_per_event) {
        ++faults.n_invalid_counts;
        rings.flags = rings_truncated;
    }
    const std::uint32_t n = std::min(n_rings_[event], max_rings_per_event);
    for (std::uint32_t k = 0; k < n; ++k) {
        const anello_ring& ring = ring_[std::size_t{event} * max_rings_per_event + k];
        if (!is_ring(ring)) {
            ++faults.n_invalid_rings;
            continue;
        }
        constexpr std::uint32_t most = std::numeric_limits<std::uint16_t>::max();
        rings.ring[rings.n_rings++] = {ring.x_mm, ring.y_mm, ring.radius_mm,
                                       static_cast<std::uint16_t>(std::min(ring.n_hits, most))};
    }
}

}  // namespace anello::rich
