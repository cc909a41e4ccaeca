// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/decision_record.hpp"

#include <algorithm>

namespace anello::rich {
namespace {

constexpr std::size_t n_arrays = 17, n_of_quality = 3;

}  // namespace

DecisionRecord::DecisionRecord(std::uint32_t max_events, bool has_quality)
    : max_events_(max_events),
      has_quality_(has_quality),
      writer_(publish::RecordKind::decisions, n_arrays + n_of_quality, 0) {
    const std::size_t max_rings = std::size_t{max_events} * max_rings_per_event;
    ring_flags_.reserve(max_events);
    ring_offset_.reserve(max_events + std::size_t{1});
    for (auto* const column : {&x_mm_, &y_mm_, &radius_mm_}) column->reserve(max_rings);
    n_hits_.reserve(max_rings);
    if (!has_quality) return;
    n_assigned_.reserve(max_rings);
    likelihood_ratio_.reserve(max_rings);
    covariance_mm2_.reserve(max_rings);
}

std::size_t DecisionRecord::largest_bytes() const noexcept {
    constexpr std::size_t per_event = 8 + 1 + 1 + 2 + 3 * 8 + 1 + 4, per_ring = 3 * 4 + 2;
    const std::size_t with_quality = per_ring + (has_quality_ ? 2 + 4 + 9 * 4 : 0);
    return publish::largest_record_bytes(
        n_arrays + n_of_quality,
        max_events_ * (per_event + max_rings_per_event * with_quality) + sizeof(std::uint32_t));
}

void DecisionRecord::fill(const DecisionBatch& batch) noexcept {
    const auto column = [&](std::string_view name, const auto* first) {
        writer_.add_array(name, std::span(first, batch.n_events));
    };
    lay_out_rings(batch);
    writer_.begin(batch.burst_id);
    writer_.add_value("burst_id", batch.burst_id);
    writer_.add_value("end_of_burst", static_cast<std::uint8_t>(batch.end_of_burst));
    writer_.add_value("built_ns", batch.built_ns);
    writer_.add_value("decided_ns", batch.decided_ns);
    column("event_key", batch.event_key);
    column("fine_time", batch.fine_time);
    column("event_flags", batch.event_flags);
    column("primitive_id", batch.primitive_id);
    column("sent_ns", batch.sent_ns);
    column("kernel_ns", batch.kernel_ns);
    column("placed_ns", batch.placed_ns);
    column("ring_flags", ring_flags_.data());
    writer_.add_array("ring_offset", std::span<const std::uint32_t>(ring_offset_));
    writer_.add_array("ring_x_mm", std::span<const float>(x_mm_));
    writer_.add_array("ring_y_mm", std::span<const float>(y_mm_));
    writer_.add_array("ring_radius_mm", std::span<const float>(radius_mm_));
    writer_.add_array("ring_n_hits", std::span<const std::uint16_t>(n_hits_));
    if (has_quality_) lay_out_quality(batch);
    outgoing_ = writer_.finish();
}

void DecisionRecord::lay_out_quality(const DecisionBatch& batch) noexcept {
    n_assigned_.clear();
    likelihood_ratio_.clear();
    covariance_mm2_.clear();
    for (std::uint32_t event = 0; event < batch.n_events; ++event)
        for (std::uint32_t k = 0; k < batch.rings[event].n_rings; ++k) {
            const RingQuality& of = batch.quality[event][k];
            n_assigned_.push_back(of.n_assigned);
            likelihood_ratio_.push_back(of.log_likelihood_ratio);
            covariance_mm2_.push_back(of.covariance_mm2);
        }
    writer_.add_array("ring_n_assigned", std::span<const std::uint16_t>(n_assigned_));
    writer_.add_array("ring_log_likelihood_ratio", std::span<const float>(likelihood_ratio_));
    writer_.open("ring_covariance_mm2", publish::ArrayType::f32,
                 {static_cast<std::uint32_t>(covariance_mm2_.size()), 3, 3});
    writer_.add_bytes(std::as_bytes(std::span(covariance_mm2_)));
    writer_.close();
}

/// Writes rings into memory that was reserved for the largest possible number of them.
void DecisionRecord::lay_out_rings(const DecisionBatch& batch) noexcept {
    for (auto* const values : {&x_mm_, &y_mm_, &radius_mm_}) values->clear();
    n_hits_.clear();
    ring_flags_.clear();
    ring_offset_.assign(1, 0);
    for (std::uint32_t event = 0; event < batch.n_events; ++event) {
        const EventRings& found = batch.rings[event];
        for (std::uint32_t k = 0; k < found.n_rings; ++k) {
            x_mm_.push_back(found.ring[k].x_mm);
            y_mm_.push_back(found.ring[k].y_mm);
            radius_mm_.push_back(found.ring[k].radius_mm);
            n_hits_.push_back(found.ring[k].n_hits);
        }
        ring_flags_.push_back(found.flags);
        ring_offset_.push_back(static_cast<std::uint32_t>(x_mm_.size()));
    }
}

}  // namespace anello::rich
