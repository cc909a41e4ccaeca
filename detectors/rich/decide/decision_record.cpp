// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/decision_record.hpp"

namespace anello::rich {
namespace {

template <typename Columns>
constexpr std::size_t bytes_of(const Columns& columns) noexcept {
    std::size_t n_bytes = 0;
    store::for_each_column(
        columns, [&](const auto& column) { n_bytes += sizeof(typename std::remove_cvref_t<decltype(column)>::Value); });
    return n_bytes;
}

template <typename Columns>
constexpr std::size_t n_of(const Columns&) noexcept {
    return std::tuple_size_v<Columns>;
}

/// burst_id and end_of_burst, then the columns, then ring_flags and ring_offset.
constexpr std::size_t n_arrays = 2 + n_of(decision_columns) + 2 + n_of(ring_columns) + n_of(quality_columns);

}  // namespace

DecisionRecord::DecisionRecord(std::uint32_t max_events, bool has_quality)
    : max_events_(max_events),
      writer_(publish::RecordKind::decisions, n_arrays, 0),
      rings_(std::size_t{max_events} * max_rings_per_event) {
    ring_flags_.reserve(max_events);
    ring_offset_.reserve(max_events + std::size_t{1});
    if (has_quality) qualities_.emplace(std::size_t{max_events} * max_rings_per_event);
}

std::size_t DecisionRecord::largest_bytes() const noexcept {
    constexpr std::size_t per_event = bytes_of(decision_columns) + sizeof(std::uint8_t) + sizeof(std::uint32_t);
    const std::size_t per_ring = bytes_of(ring_columns) + (qualities_ ? bytes_of(quality_columns) : 0);
    return publish::largest_record_bytes(
        n_arrays, max_events_ * (per_event + max_rings_per_event * per_ring) + sizeof(std::uint32_t));
}

void DecisionRecord::fill(const DecisionBatch& batch) noexcept {
    lay_out_rings(batch);
    writer_.begin(batch.burst_id);
    writer_.add_value("burst_id", batch.burst_id);
    writer_.add_value("end_of_burst", static_cast<std::uint8_t>(batch.end_of_burst));
    store::for_each_column(decision_columns, [&](const auto& column) {
        if (column.values == nullptr)
            writer_.add_value(column.name, batch.*column.value);
        else
            writer_.add_array(column.name, std::span(batch.*column.values, batch.n_events));
    });
    writer_.add_array("ring_flags", std::span<const std::uint8_t>(ring_flags_));
    writer_.add_array("ring_offset", std::span<const std::uint32_t>(ring_offset_));
    add(rings_);
    if (qualities_) add(*qualities_);
    outgoing_ = writer_.finish();
}

template <const auto& columns>
void DecisionRecord::add(const store::ColumnRows<columns>& rows) noexcept {
    rows.for_each([&]<typename T>(const auto& column, const std::vector<T>& values) {
        if constexpr (requires { typename T::value_type; }) {
            writer_.open(column.name, publish::array_type_of<typename T::value_type>(),
                         {static_cast<std::uint32_t>(values.size()), column.row_shape[0], column.row_shape[1]});
            writer_.add_bytes(std::as_bytes(std::span(values)));
            writer_.close();
        } else {
            writer_.add_array(column.name, std::span<const T>(values));
        }
    });
}

/// Writes rings into memory that was taken for the largest possible number of them.
void DecisionRecord::lay_out_rings(const DecisionBatch& batch) noexcept {
    rings_.clear();
    if (qualities_) qualities_->clear();
    ring_flags_.clear();
    ring_offset_.assign(1, 0);
    for (std::uint32_t event = 0; event < batch.n_events; ++event) {
        const EventRings& found = batch.rings[event];
        for (std::uint32_t k = 0; k < found.n_rings; ++k) {
            rings_.push(found.ring[k]);
            if (qualities_) qualities_->push(batch.quality[event][k]);
        }
        ring_flags_.push_back(found.flags);
        ring_offset_.push_back(static_cast<std::uint32_t>(rings_.size()));
    }
}

}  // namespace anello::rich
