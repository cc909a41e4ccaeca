// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/decider.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "core/clock.hpp"
#include "core/errors.hpp"
#include "core/keys.hpp"
#include "rich/decide/event_time.hpp"

namespace anello::rich {

namespace {

namespace decider_table {

using C = DeciderConfig;
using K = Key<C>;

/// The key of the primitive ids by number of rings. The last id is also for more rings.
KeyValue primitive_ids(const DeciderConfig& config) {
    std::vector<std::int64_t> ids(config.primitive_by_rings.begin(), config.primitive_by_rings.end());
    while (ids.size() > 1 && ids.back() == ids[ids.size() - 2]) ids.pop_back();
    return ids;
}

void set_primitive_ids(DeciderConfig& config, const KeyValue& value) {
    const auto& ids = std::get<std::vector<std::int64_t>>(value);
    for (std::size_t k = 0; k < config.primitive_by_rings.size(); ++k)
        config.primitive_by_rings[k] = static_cast<std::uint16_t>(ids[std::min(k, ids.size() - 1)]);
}

constexpr std::array keys{
    K::of<in<&C::finder, &RingFinderConfig::algorithm>>("algorithm", "Algorithm that finds rings."),
    K::of<in<&C::finder, &RingFinderConfig::isa>>("isa", "Instruction set; automatic: the widest of this processor.")
        .for_experts(),
    K::of<&C::backend>("backend", "Where rings are found; auto: on a CUDA device where one can be used."),
    K::of<&C::in_time_window_ns>("in_time_window_ns", {0, 3000},
                                 "Hits within +- this of the event's time are used, ns; 0: all hits."),
    K::of<&C::min_likelihood_ratio>("min_likelihood_ratio", {0, 1000},
                                    "A ring that makes its event's hits less than so much likelier (natural logarithm) "
                                    "is dropped before the decision; 0: none. By the detector's description in "
                                    "trigger.multiring; not where a deadline makes the decision cheaper."),
    K::of<&C::min_assigned_hits>(
        "min_assigned_hits", {0, max_hits_per_event},
        "A ring is dropped before the decision, too, if fewer hits than this are likelier its own "
        "than another's or noise; 0: none."),
    K::of<&C::quality>(
        "quality",
        "Every ring is judged by its event's hits, and its number of hits, likelihood ratio and "
        "covariance are stored and published. A microsecond an event or more; not known where a deadline "
        "makes the decision cheaper, or a plugin decides."),
    K{{"primitive_ids",
       Limits{0, 0xffff}.entries(1, max_rings_per_event + 1),
       {},
       "Primitive sent for 0, 1, 2, ... rings, the last also for more; 0: none is sent."},
      &primitive_ids,
      &set_primitive_ids},
};

}  // namespace decider_table

}  // namespace

constinit const Keys<DeciderConfig> decider_keys{"trigger", "Events into rings, rings into decisions.",
                                                 decider_table::keys};

void DeciderConfig::validate() const {
    decider_keys.check(*this);
    finder.validate();
    deadline.validate();
    for (const std::uint16_t id : primitive_by_rings)
        check_primitive("trigger.primitive_ids", id, "[0, 257, 258, 260, 264]");
}

namespace {

std::unique_ptr<PluginRunner> runner_of(const DeciderConfig& config, const events::BatchShape& shape) {
    return config.make_plugin ? std::make_unique<PluginRunner>(config.make_plugin(), shape) : nullptr;
}

/// Chooses the device. A plugin always runs on the processor.
ChosenDevice device_of(const DeciderConfig& config, const events::BatchShape& shape, const Placement& placement) {
    if (config.make_device) return {config.make_device(placement), ""};
    return choose_device(config.make_plugin ? Backend::cpu : config.backend, config.finder, shape.max_events,
                         shape.max_hits, placement);
}

Placement placement_of(const DeciderConfig& config, std::span<const HitPosition> positions) {
    const bool all = config.in_time_window_ns <= 0;
    return {{positions.begin(), positions.end()},
            all ? std::numeric_limits<std::int32_t>::max()
                : static_cast<std::int32_t>(std::lround(config.in_time_window_ns / fine_time_ns))};
}

/// There is no cheaper finder for a plugin, nor when the configured finder is not the most expensive one, multiring.
std::optional<RingFinder> cheaper_than(const DeciderConfig& config) {
    if (config.make_plugin || config.finder.algorithm != Algorithm::multiring) return std::nullopt;
    RingFinderConfig finder = config.finder;
    finder.algorithm = Algorithm::single;
    return RingFinder(finder);
}

}  // namespace

Decider::Decider(const DeciderConfig& config, std::span<const HitPosition> positions, const events::BatchShape& shape)
    : min_likelihood_ratio_((config.validate(), config.min_likelihood_ratio)),
      min_assigned_hits_(config.min_assigned_hits),
      finder_(config.finder),
      cheaper_(cheaper_than(config)),
      pass_primitive_(config.deadline.pass_primitive),
      placement_(placement_of(config, positions)),
      device_(device_of(config, shape, placement_)),
      room_(device_.finder ? device_.finder->room() : BatchFinder::Room{}),
      plugin_(runner_of(config, shape)),
      primitive_by_rings_(config.primitive_by_rings),
      time_from_hits_(config.time_from_hits),
      hit_id_(plugin_ ? new std::uint16_t[shape.max_hits] : nullptr),
      hit_time_fine_(plugin_ ? new std::int16_t[shape.max_hits] : nullptr) {
    if (room_.hit_offset != nullptr && max_under_way() == 0) return;
    hit_offset_.reset(new std::uint32_t[shape.max_events + 1]);
    x_mm_.reset(new float[shape.max_hits]);
    y_mm_.reset(new float[shape.max_hits]);
    if (room_.hit_offset == nullptr) room_ = own_room();
}

template <Decider::Columns columns>
Decider::Outcome Decider::place_hits(const events::BatchColumns& batch, std::uint32_t n_events,
                                     const BatchFinder::Room& to) noexcept {
    Outcome outcome{};
    std::uint32_t n = 0;
    const auto n_positions = static_cast<std::uint32_t>(placement_.position.size());
    to.hit_offset[0] = 0;
    for (std::uint32_t event = 0; event < n_events; ++event) {
        for (std::uint32_t hit = batch.hit_offset[event]; hit < batch.hit_offset[event + 1]; ++hit) {
            const std::uint32_t id = batch.hit_id[hit];
            if (id >= n_positions) {
                ++outcome.n_hits_unknown;
                continue;
            }
            to.x_mm[n] = placement_.position[id].x_mm;
            to.y_mm[n] = placement_.position[id].y_mm;
            if constexpr (columns == Columns::all) {
                hit_id_[n] = batch.hit_id[hit];
                hit_time_fine_[n] = batch.hit_time_fine[hit];
            }
            // The hit is always written, and only the count decides whether it stays: the time cut needs no branch.
            n += std::abs(std::int32_t{batch.hit_time_fine[hit]}) <= placement_.window_fine ? 1U : 0U;
        }
        to.hit_offset[event + 1] = n;
    }
    outcome.n_hits_in_time = n;
    outcome.n_hits_out_of_time = batch.hit_offset[n_events] - batch.hit_offset[0] - n - outcome.n_hits_unknown;
    return outcome;
}

namespace {

void do_not_judge(std::uint32_t n_events, EventQuality* quality) noexcept {
    for (std::uint32_t event = 0; quality != nullptr && event < n_events; ++event)
        quality[event].fill(unknown_quality());
}

}  // namespace

Decider::Outcome Decider::decide(const events::BatchColumns& batch, std::uint32_t n_events, EventRings* rings,
                                 std::uint16_t* primitive_id, Effort effort, EventQuality* quality) noexcept {
    if (time_from_hits_) find_event_times(batch, n_events);
    if (effort == Effort::pass) return pass(batch, n_events, rings, primitive_id);
    if (!cheaper_) effort = Effort::full;
    if (plugin_ != nullptr) {
        do_not_judge(n_events, quality);  // a plugin's rings may have another meaning
        return decide_by_plugin(batch, n_events, rings, primitive_id);
    }
    Outcome outcome = place_hits<Columns::positions>(batch, n_events, room_);
    outcome.effort = effort;
    outcome.device = find(n_events, rings, effort);
    if (effort != Effort::full)
        do_not_judge(n_events, quality);
    else if (has_cuts() || quality != nullptr)
        outcome.n_rings_dropped = judge(n_events, rings, quality);
    choose_primitives(n_events, rings, primitive_id);
    return outcome;
}

void Decider::choose_primitives(std::uint32_t n_events, const EventRings* rings,
                                std::uint16_t* primitive_id) const noexcept {
    for (std::uint32_t event = 0; event < n_events; ++event)
        primitive_id[event] = primitive_by_rings_[rings[event].n_rings];
}

/// A batch cannot be sent when the processor needs its placed hits, for a plugin or to judge rings.
bool Decider::can_send(std::uint32_t n_events, Effort effort, const EventQuality* quality) const noexcept {
    return max_under_way() > 0 && plugin_ == nullptr && n_events > 0 && effort == Effort::full && !has_cuts() &&
           quality == nullptr;
}

bool Decider::send(const events::BatchColumns& batch, std::uint32_t n_events) noexcept {
    if (time_from_hits_) find_event_times(batch, n_events);
    return device_.finder->send({n_events, batch.hit_offset, batch.hit_id, batch.hit_time_fine});
}

Decider::Outcome Decider::collect(const events::BatchColumns& batch, std::uint32_t n_events, bool is_on_device,
                                  EventRings* rings, std::uint16_t* primitive_id) noexcept {
    PlacedHits of_device;
    Outcome outcome{};
    if (is_on_device && device_.finder->collect(rings, of_device)) {
        outcome.n_hits_in_time = of_device.n_in_time;
        outcome.n_hits_unknown = of_device.n_unknown;
        outcome.n_hits_out_of_time =
            batch.hit_offset[n_events] - batch.hit_offset[0] - of_device.n_in_time - of_device.n_unknown;
        outcome.device = Device::used;
    } else {  // not with the device, as another batch may be on it
        outcome = place_hits<Columns::positions>(batch, n_events, own_room());
        finder_.find(placed(n_events, own_room()), rings);
        outcome.device = Device::failed;
    }
    outcome.effort = Effort::full;
    choose_primitives(n_events, rings, primitive_id);
    return outcome;
}

Decider::Outcome Decider::pass(const events::BatchColumns& batch, std::uint32_t n_events, EventRings* rings,
                               std::uint16_t* primitive_id) noexcept {
    for (std::uint32_t event = 0; event < n_events; ++event) {
        rings[event].n_rings = 0;
        rings[event].flags = not_looked_at;
        primitive_id[event] = pass_primitive_;
    }
    Outcome outcome{};
    outcome.n_hits_passed = batch.hit_offset[n_events] - batch.hit_offset[0];
    outcome.effort = Effort::pass;
    return outcome;
}

Decider::Device Decider::find(std::uint32_t n_events, EventRings* rings, Effort effort) noexcept {
    const HitsView hits = placed(n_events, room_);
    if (effort == Effort::cheaper) {
        cheaper_->find(hits, rings);
        for (std::uint32_t event = 0; event < n_events; ++event) rings[event].flags |= found_cheaply;
        return Device::none;
    }
    if (device_.finder != nullptr && device_.finder->find(hits, rings)) return Device::used;
    finder_.find(hits, rings);
    return device_.finder == nullptr ? Device::none : Device::failed;
}

/// Returns the number of rings dropped by the cuts. Writes the qualities to `quality` unless it is null.
std::uint32_t Decider::judge(std::uint32_t n_events, EventRings* rings, EventQuality* quality) const noexcept {
    const HitsView hits = placed(n_events, room_);
    EventQuality of_one;
    std::uint32_t n_dropped = 0;
    for (std::uint32_t event = 0; event < n_events; ++event) {
        EventQuality& judged = quality != nullptr ? quality[event] : of_one;
        if (rings[event].n_rings == 0) continue;
        judge_rings(finder_.config(), hits, event, rings[event], judged.data(), nullptr);
        n_dropped += drop_doubtful(rings[event], judged);
    }
    return n_dropped;
}

/// All rings are judged as they were found: the other rings do not get the hits of a ring that is dropped.
std::uint32_t Decider::drop_doubtful(EventRings& found, EventQuality& quality) const noexcept {
    std::uint8_t n_kept = 0;
    for (std::uint8_t k = 0; k < found.n_rings; ++k) {
        const bool is_doubtful =
            (min_likelihood_ratio_ > 0 && quality[k].log_likelihood_ratio < min_likelihood_ratio_) ||
            quality[k].n_assigned < min_assigned_hits_;
        if (is_doubtful) continue;
        found.ring[n_kept] = found.ring[k];
        quality[n_kept++] = quality[k];
    }
    if (n_kept == found.n_rings) return 0;
    const std::uint32_t n_dropped = std::uint32_t{found.n_rings} - n_kept;
    found.n_rings = n_kept;
    found.flags |= rings_dropped;
    return n_dropped;
}

Decider::Outcome Decider::decide_by_plugin(const events::BatchColumns& batch, std::uint32_t n_events, EventRings* rings,
                                           std::uint16_t* primitive_id) noexcept {
    Outcome outcome = place_hits<Columns::all>(batch, n_events, room_);
    outcome.plugin = plugin_->decide({.struct_size = sizeof(anello_trigger_batch),
                                      .n_events = n_events,
                                      .event_key = batch.event_key,
                                      .hit_offset = room_.hit_offset,
                                      .hit_id = hit_id_.get(),
                                      .x_mm = room_.x_mm,
                                      .y_mm = room_.y_mm,
                                      .hit_time_fine = hit_time_fine_.get()},
                                     primitive_by_rings_, rings, primitive_id);
    return outcome;
}

}  // namespace anello::rich
