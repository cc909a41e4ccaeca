// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "publish/record_writer.hpp"
#include "rich/decide/decision_columns.hpp"

namespace anello::rich {

/// A batch of decisions as a record: the batch's own columns, and rings as columns, those of event e from
/// ring_offset[e] to ring_offset[e + 1]; with their quality, if configured.
class DecisionRecord {
  public:
    /// has_quality: batches have the quality of their rings.
    explicit DecisionRecord(std::uint32_t max_events, bool has_quality = false);

    std::size_t largest_bytes() const noexcept;
    /// Hot path: no allocation, no lock, no log, no throw. The batch's columns must stay until outgoing() is sent.
    void fill(const DecisionBatch& batch) noexcept;
    const publish::OutgoingRecord& outgoing() const noexcept { return outgoing_; }

  private:
    void lay_out_rings(const DecisionBatch& batch) noexcept;
    template <const auto& columns>
    void add(const store::ColumnRows<columns>& rows) noexcept;

    std::uint32_t max_events_;
    publish::RecordWriter writer_;
    publish::OutgoingRecord outgoing_;
    std::vector<std::uint8_t> ring_flags_;
    std::vector<std::uint32_t> ring_offset_;
    store::ColumnRows<ring_columns> rings_;
    std::optional<store::ColumnRows<quality_columns>> qualities_;
};

}  // namespace anello::rich
