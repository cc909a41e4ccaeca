// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "build/camera_event.hpp"
#include "core/words.hpp"
#include "publish/record_writer.hpp"
#include "trigger/camera_filter.hpp"
#include "trigger/pixel_integrator.hpp"

namespace anello::publish {

/// Which part of a camera event is published: all, or pixels (charges and times) without waveforms.
enum class CameraContent : std::uint8_t { event, pixels };

/// A camera event as a record: the boards' headers and waveforms as laid out in event memory, and the
/// integrator's results.
class CameraEventRecord {
  public:
    /// pixels: the waveforms' shape; none: they are bytes, and there are no charges.
    CameraEventRecord(const build::CameraShape& shape, const std::optional<trigger::IntegratorConfig>& pixels,
                      CameraContent content);

    std::size_t largest_bytes() const noexcept;
    /// Hot path: no allocation, no lock, no log, no throw. All must stay until outgoing() was sent.
    void fill(const build::CameraEventView& event, const trigger::PixelView& pixels,
              const trigger::Verdict& verdict) noexcept;
    const OutgoingRecord& outgoing() const noexcept { return outgoing_; }

  private:
    void add_boards(const build::CameraEventView& event) noexcept;
    void add_waveforms(const build::CameraEventView& event) noexcept;

    build::CameraShape shape_;
    std::optional<trigger::IntegratorConfig> pixels_;
    CameraContent content_;
    RecordWriter writer_;
    OutgoingRecord outgoing_;
    std::vector<std::uint16_t> present_;
};

}  // namespace anello::publish

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<publish::CameraContent>{"event", "pixels"};

}  // namespace anello
