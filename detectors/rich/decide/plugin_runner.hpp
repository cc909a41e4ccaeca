// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "events/event_batch.hpp"
#include "rich/decide/plugin.hpp"
#include "rich/rings/ring_finder.hpp"

namespace anello::rich {

/// The primitive of an event with k rings; 0: no primitive.
using PrimitiveByRings = std::array<std::uint16_t, max_rings_per_event + 1>;

/// Errors in a plugin's decisions on one batch.
struct PluginFaults {
    std::uint32_t n_failed_batches = 0;      ///< it reported a failure or threw: no rings in this batch
    std::uint32_t n_invalid_counts = 0;      ///< events with more rings than a decision holds: the first are used
    std::uint32_t n_invalid_rings = 0;       ///< NaN, infinite or absurd rings: left out
    std::uint32_t n_invalid_primitives = 0;  ///< invalid ids: replaced by the id for the number of rings
};

/// Lets a plugin decide a batch and makes decisions of its output. It does not trust the plugin: whatever the plugin
/// writes in its columns, the decisions are valid. It owns these columns, for one batch.
class PluginRunner {
  public:
    PluginRunner(std::unique_ptr<Plugin> plugin, const events::BatchShape& shape);

    /// Does not allocate, lock or throw itself; the plugin may. rings, primitive_id: [batch.n_events].
    PluginFaults decide(const anello_trigger_batch& batch, const PrimitiveByRings& primitive_by_rings,
                        EventRings* rings, std::uint16_t* primitive_id) noexcept;

  private:
    void clear(std::uint32_t n_events) noexcept;
    void take_rings(std::uint32_t event, EventRings& rings, PluginFaults& faults) const noexcept;

    std::unique_ptr<Plugin> plugin_;
    std::unique_ptr<std::uint32_t[]> n_rings_, primitive_id_;
    std::unique_ptr<anello_ring[]> ring_;
};

}  // namespace anello::rich
