// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "camera/events/event.hpp"
#include "camera/filter/filter.hpp"
#include "core/words.hpp"
#include "publish/record_writer.hpp"

namespace anello::camera {

/// The part of a camera event that is published: all, or pixels (charges and times) without waveforms.
enum class CameraContent : std::uint8_t { event, pixels };

/// A camera event as a record: the boards' headers and waveforms as laid out in event memory, and the
/// integrator's results.
class CameraEventRecord {
  public:
    /// pixels: the waveforms' shape; empty: waveforms are bytes, and there are no charges.
    CameraEventRecord(const CameraShape& shape, const std::optional<IntegratorConfig>& pixels, CameraContent content);

    std::size_t largest_bytes() const noexcept;
    /// Hot path: no allocation, no lock, no log, no throw. All arguments must stay valid until outgoing() was sent.
    void fill(const CameraEventView& event, const PixelView& pixels, const Verdict& verdict) noexcept;
    const publish::OutgoingRecord& outgoing() const noexcept { return outgoing_; }

  private:
    void add_boards(const CameraEventView& event) noexcept;
    std::size_t board_bytes() const noexcept;
    void add_waveforms(const CameraEventView& event) noexcept;
    void add_first_cells(const CameraEventView& event) noexcept;

    CameraShape shape_;
    std::optional<IntegratorConfig> pixels_;
    CameraContent content_;
    publish::RecordWriter writer_;
    publish::OutgoingRecord outgoing_;
    std::vector<std::uint16_t> present_;
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<camera::CameraContent>{"event", "pixels"};

}  // namespace anello
