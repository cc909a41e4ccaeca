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
    Backend backend = Backend::automatic;  ///< automatic: a CUDA device if there is one
    float in_time_window_ns = 8;           ///< hits of formats without hit times have time 0
    float min_likelihood_ratio = 0;        ///< cut on RingQuality; 0: no cut
    std::uint32_t min_assigned_hits = 0;
    bool quality = false;         ///< also compute RingQuality for files and subscribers
    bool time_from_hits = false;  ///< for formats without fine event times (mep): see event_time.hpp
    /// The high byte must not be 0, because in a primitive packet such a word would be a timestamp.
    PrimitiveByRings primitive_by_rings{0, 0x101, 0x102, 0x104, 0x108, 0x108, 0x108, 0x108, 0x108};
    /// The user's algorithm in place of the ring finder; empty: none.
    MakePlugin make_plugin{};
    std::string plugin_name{};  ///< for displays
    /// The caller's device in place of the backend; empty: none.
    std::function<std::unique_ptr<BatchFinder>(const Placement&)> make_device{};
    void validate() const;  ///< Throws ConfigError.
};

extern const Keys<DeciderConfig> decider_keys;

/// Decides a batch of events: it looks up hit positions, leaves out hits out of time, finds rings with the finder or a
/// plugin, and chooses primitives. Each worker thread has one, because it owns the working memory for one batch.
class Decider {
  public:
    /// positions: one per hit id; hits with larger ids are left out and counted. Throws ConfigError.
    Decider(const DeciderConfig& config, std::span<const HitPosition> positions, const events::BatchShape& shape);

    /// Whether a device searched the batch; failed: the processor searched it instead.
    enum class Device : std::uint8_t { none, used, failed };
    struct Outcome {
        std::uint32_t n_hits_in_time, n_hits_out_of_time, n_hits_unknown;
        std::uint32_t n_hits_passed;    ///< hits of events that passed without a look
        std::uint32_t n_rings_dropped;  ///< dropped by cuts on quality
        Effort effort;
        Device device;
        PluginFaults plugin;
    };
    /// Hot path: no allocation, no lock, no log, no throw (except in a plugin). rings, primitive_id and, unless null,
    /// quality: [n_events]. With time_from_hits this sets the batch's event times.
    Outcome decide(const events::BatchColumns& batch, std::uint32_t n_events, EventRings* rings,
                   std::uint16_t* primitive_id, Effort effort = Effort::full, EventQuality* quality = nullptr) noexcept;

    /// decide() in two steps for a device: batches are collected in the order in which they were sent, with at most
    /// max_under_way() on the device. decide() does a batch that cannot be sent, when no batch is on the device.
    std::uint32_t max_under_way() const noexcept {
        return device_.finder != nullptr ? device_.finder->max_under_way() : 0;
    }
    bool can_send(std::uint32_t n_events, Effort effort, const EventQuality* quality) const noexcept;
    /// Returns false when the device refused the batch. Call collect() in its turn all the same.
    bool send(const events::BatchColumns& batch, std::uint32_t n_events) noexcept;
    /// Collects the oldest batch. The caller passes it again, with send()'s result; the processor does refused batches.
    Outcome collect(const events::BatchColumns& batch, std::uint32_t n_events, bool is_on_device, EventRings* rings,
                    std::uint16_t* primitive_id) noexcept;

    Isa isa() const noexcept { return finder_.isa(); }
    /// Name of the device that finds rings; empty: the processor finds them.
    std::string_view device_name() const noexcept {
        return device_.finder ? device_.finder->device_name() : std::string_view();
    }
    /// Why `automatic` has chosen the processor; empty when it has not.
    const std::string& backend_note() const noexcept { return device_.note; }

  private:
    /// Columns that place_hits() writes for the hits in time.
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
    /// Where hits are placed: in the device's memory, or in the decider's own. The decider's own is also used when the
    /// device may still read another batch in its memory.
    BatchFinder::Room room_;
    std::unique_ptr<PluginRunner> plugin_;  ///< null: the finder decides
    PrimitiveByRings primitive_by_rings_;
    bool time_from_hits_;
    std::unique_ptr<std::uint32_t[]> hit_offset_;
    std::unique_ptr<float[]> x_mm_, y_mm_;
    std::unique_ptr<std::uint16_t[]> hit_id_;  ///< only for a plugin, like hit_time_fine_
    std::unique_ptr<std::int16_t[]> hit_time_fine_;
};

}  // namespace anello::rich
