// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "events/event_batch.hpp"
#include "rich/decide/deadline.hpp"
#include "rich/decide/plugin_runner.hpp"
#include "rich/rings/batch_finder.hpp"
#include "rich/rings/ring_finder.hpp"
#include "rich/rings/ring_quality.hpp"

namespace anello::rich {

struct DeciderConfig {
    RingFinderConfig finder;
    DeadlineConfig deadline;
    Backend backend = Backend::automatic;  ///< automatic: a CUDA device where there is one
    float in_time_window_ns = 8;           ///< formats without hit times have 0 for all hits
    float min_likelihood_ratio = 0;        ///< cuts on RingQuality; 0: none
    std::uint32_t min_assigned_hits = 0;
    bool quality = false;         ///< rings are judged for files and subscribers, too
    bool time_from_hits = false;  ///< fragments tell no time within the tick, as mep: see event_time.hpp
    /// The high byte must not be 0: in a primitive packet such a word would read as a timestamp.
    PrimitiveByRings primitive_by_rings{0, 0x101, 0x102, 0x104, 0x108, 0x108, 0x108, 0x108, 0x108};
    /// An algorithm of the user's own instead of the ring finder; empty: none.
    MakePlugin make_plugin{};
    std::string plugin_name{};  ///< for displays
    /// A device of the caller's own instead of the backend; empty: none.
    std::function<std::unique_ptr<BatchFinder>(const Placement&)> make_device{};
    void validate() const;  ///< Throws ConfigError.
};

extern const Keys<DeciderConfig> decider_keys;

/// From a batch of events to decisions: hit ids become positions, hits out of time are left out, rings are found, by
/// the finder or by a plugin, and a primitive is chosen. One per worker thread, because it owns scratch for one batch.
class Decider {
  public:
    /// positions: one per hit id; ids beyond are left out and counted. Throws ConfigError.
    Decider(const DeciderConfig& config, std::span<const HitPosition> positions, const events::BatchShape& shape);

    /// What a device did of a batch; failed: the processor did it instead.
    enum class Device : std::uint8_t { none, used, failed };
    struct Outcome {
        std::uint32_t n_hits_in_time, n_hits_out_of_time, n_hits_unknown;
        std::uint32_t n_hits_passed;    ///< of events that nobody looked at
        std::uint32_t n_rings_dropped;  ///< by cuts on quality
        Effort effort;
        Device device;
        PluginFaults plugin;
    };
    /// Hot path: no allocation, no lock, no log, no throw (a plugin does as it likes). rings and primitive_id:
    /// [n_events], quality likewise, or null. With time_from_hits the batch's times are set.
    Outcome decide(const events::BatchColumns& batch, std::uint32_t n_events, EventRings* rings,
                   std::uint16_t* primitive_id, Effort effort = Effort::full, EventQuality* quality = nullptr) noexcept;

    /// The same in two steps, where a device searches: what is sent is collected in the same order, max_under_way() at
    /// a time. Where a batch cannot be sent, decide() does it, with none under way.
    std::uint32_t max_under_way() const noexcept {
        return device_.finder != nullptr ? device_.finder->max_under_way() : 0;
    }
    bool can_send(std::uint32_t n_events, Effort effort, const EventQuality* quality) const noexcept;
    /// False: the device refused it. It is collected in its turn all the same.
    bool send(const events::BatchColumns& batch, std::uint32_t n_events) noexcept;
    /// The batch that was sent first, once more, and whether the device has it; the processor does what it does not.
    Outcome collect(const events::BatchColumns& batch, std::uint32_t n_events, bool is_on_device, EventRings* rings,
                    std::uint16_t* primitive_id) noexcept;

    Isa isa() const noexcept { return finder_.isa(); }
    /// The name of the device that finds rings; empty: this processor does.
    std::string_view device_name() const noexcept {
        return device_.finder ? device_.finder->device_name() : std::string_view();
    }
    /// Why `automatic` has chosen the processor; empty where it has not.
    const std::string& backend_note() const noexcept { return device_.note; }

  private:
    /// Which columns of the hits used are written.
    enum class Columns : std::uint8_t { positions, all };
    template <Columns columns>
    Outcome place_hits(const events::BatchColumns& batch, std::uint32_t n_events, const BatchFinder::Room& to) noexcept;
    Outcome decide_by_plugin(const events::BatchColumns& batch, std::uint32_t n_events, EventRings* rings,
                             std::uint16_t* primitive_id) noexcept;

    Outcome pass(const events::BatchColumns& batch, std::uint32_t n_events, EventRings* rings,
                 std::uint16_t* primitive_id) noexcept;
    void choose_primitives(std::uint32_t n_events, const EventRings* rings, std::uint16_t* primitive_id) const noexcept;
    bool has_cuts() const noexcept { return min_likelihood_ratio_ > 0 || min_assigned_hits_ > 0; }
    Device find(std::uint32_t n_events, EventRings* rings, Effort effort) noexcept;
    std::uint32_t judge(std::uint32_t n_events, EventRings* rings, EventQuality* quality) const noexcept;
    std::uint32_t drop_doubtful(EventRings& found, EventQuality& quality) const noexcept;
    static HitsView placed(std::uint32_t n_events, const BatchFinder::Room& in) noexcept {
        return {n_events, in.hit_offset, in.x_mm, in.y_mm};
    }
    BatchFinder::Room own_room() noexcept { return {hit_offset_.get(), x_mm_.get(), y_mm_.get()}; }

    float min_likelihood_ratio_;
    std::uint32_t min_assigned_hits_;
    RingFinder finder_;
    std::optional<RingFinder> cheaper_;
    std::uint16_t pass_primitive_;
    Placement placement_;
    ChosenDevice device_;
    /// Where hits are placed: where the device reads them, or in memory of our own. Ours, too, where the device may
    /// still read there what another batch has.
    BatchFinder::Room room_;
    std::unique_ptr<PluginRunner> plugin_;  ///< null: the finder
    PrimitiveByRings primitive_by_rings_;
    bool time_from_hits_;
    std::unique_ptr<std::uint32_t[]> hit_offset_;
    std::unique_ptr<float[]> x_mm_, y_mm_;
    std::unique_ptr<std::uint16_t[]> hit_id_;  ///< for a plugin only, as hit_time_fine_
    std::unique_ptr<std::int16_t[]> hit_time_fine_;
};

}  // namespace anello::rich
