// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "publish/record_writer.hpp"
#include "rich/decide/decision.hpp"

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

    void lay_out_quality(const DecisionBatch& batch) noexcept;

    std::uint32_t max_events_;
    bool has_quality_;
    publish::RecordWriter writer_;
    publish::OutgoingRecord outgoing_;
    std::vector<std::uint8_t> ring_flags_;
    std::vector<std::uint32_t> ring_offset_;
    std::vector<float> x_mm_, y_mm_, radius_mm_;
    std::vector<std::uint16_t> n_hits_, n_assigned_;
    std::vector<float> likelihood_ratio_;
    std::vector<std::array<float, 9>> covariance_mm2_;
};

}  // namespace anello::rich
