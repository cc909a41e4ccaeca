// SPDX-License-Identifier: Apache-2.0
#include "camera/send/event_record.hpp"

#include <algorithm>
#include <bit>

#include "camera/events/builder/slot.hpp"
#include "core/errors.hpp"

namespace anello::camera {
namespace {

constexpr std::size_t n_arrays = 17;
/// Zeros in place of the first cells of a board that sends none, if other boards send them.
constexpr wire::camera::FirstCells no_cells = [] {
    wire::camera::FirstCells cells{};
    cells.fill(0xffff);
    return cells;
}();
static_assert(std::endian::native == std::endian::little, "cells are published as they stand in the fragments");

}  // namespace

CameraEventRecord::CameraEventRecord(const CameraShape& shape, const std::optional<IntegratorConfig>& pixels,
                                     CameraContent content)
    : shape_(shape),
      pixels_(pixels),
      content_(content),
      writer_(publish::RecordKind::kept_event, n_arrays,
              std::size_t{shape.n_boards} * (4 + shape.max_payload_bytes / 4096)) {  // header, payload, zeros, cells
    present_.reserve(shape.n_boards);
    if (content == CameraContent::pixels && !pixels)
        throw ConfigError("publish.what", "must be event where camera.payload_bytes gives fragments no shape", "pixels",
                          "There are no pixels.");
}

std::size_t CameraEventRecord::largest_bytes() const noexcept {
    const std::size_t n_pixels = pixels_ ? std::size_t{pixels_->n_boards} * pixels_->pixels_per_board : 0;
    const std::size_t per_board =
        2 + wire::camera::header_bytes +
        (content_ == CameraContent::event ? board_bytes() + wire::camera::first_cells_bytes : 0);
    return publish::largest_record_bytes(n_arrays, shape_.n_boards * per_board + n_pixels * (4 + 2 + 1));
}

void CameraEventRecord::fill(const CameraEventView& event, const PixelView& pixels, const Verdict& verdict) noexcept {
    present_.clear();  // keeps the room for all boards
    for (std::uint32_t board = 0; board < event.shape.n_boards; ++board)
        if (event.present.contains(board)) present_.push_back(static_cast<std::uint16_t>(board));
    writer_.begin(event.run_id);
    writer_.add_value("event_number", event.event_number);
    writer_.add_value("n_boards", event.shape.n_boards);
    writer_.add_value("timestamp_ns", event.timestamp_ns);
    writer_.add_value("first_ns", event.first_ns);
    writer_.add_value("closed_ns", event.closed_ns);
    writer_.add_value("trigger_tag", event.trigger_tag);
    writer_.add_value("kept_by", static_cast<std::uint8_t>(verdict.kept_by));
    add_boards(event);
    if (content_ == CameraContent::event) {
        add_waveforms(event);
        if (pixels_) add_first_cells(event);
    }
    if (pixels_) {
        writer_.add_value("multiplicity", verdict.multiplicity);
        writer_.add_value("n_pixels_above", verdict.n_pixels_above);
        writer_.add_value("charge_sum", verdict.charge_sum);
        writer_.add_array("charge", pixels.charge);
        writer_.add_array("peak_sample", pixels.peak_sample);
        writer_.add_array("pixel_flags", pixels.flags);
    }
    outgoing_ = writer_.finish();
}

void CameraEventRecord::add_boards(const CameraEventView& event) noexcept {
    writer_.add_array("board", std::span<const std::uint16_t>(present_));
    writer_.open("board_header", publish::ArrayType::u8,
                 {static_cast<std::uint32_t>(present_.size()), std::uint32_t{wire::camera::header_bytes}});
    for (const std::uint16_t board : present_) writer_.add_bytes({event.slot(board), wire::camera::header_bytes});
    writer_.close();
}

/// Bytes of each board in the array of waveforms.
std::size_t CameraEventRecord::board_bytes() const noexcept {
    return pixels_ ? pixels_->board_bytes() : shape_.max_payload_bytes;
}

/// Data of a board that sent less than the others is padded with zeros; its header has the length.
void CameraEventRecord::add_waveforms(const CameraEventView& event) noexcept {
    const auto n_present = static_cast<std::uint32_t>(present_.size());
    if (pixels_)
        writer_.open("waveforms", publish::ArrayType::u16,
                     {n_present, pixels_->n_gains, pixels_->pixels_per_board, pixels_->n_samples});
    else
        writer_.open("waveforms", publish::ArrayType::u8, {n_present, shape_.max_payload_bytes});
    for (const std::uint16_t board : present_) {
        const CameraWaveforms found = waveforms_in(event.slot(board));
        const std::size_t n_found = pixels_ ? found.waveform_bytes() : found.payload_bytes;
        const std::size_t n_bytes = std::min(n_found, board_bytes());
        writer_.add_bytes({event.payload(board), n_bytes});
        writer_.add_zeros(board_bytes() - n_bytes);
    }
    writer_.close();
}

/// Adds the first cells, if boards send them.
void CameraEventRecord::add_first_cells(const CameraEventView& event) noexcept {
    const auto has_cells = [&](std::uint16_t board) { return waveforms_in(event.slot(board)).has_first_cells(); };
    if (std::none_of(present_.begin(), present_.end(), has_cells)) return;
    writer_.open("first_cells", publish::ArrayType::u16,
                 {static_cast<std::uint32_t>(present_.size()), std::uint32_t{wire::camera::drs4_chips}});
    for (const std::uint16_t board : present_)
        writer_.add_bytes(has_cells(board)
                              ? std::span(event.payload(board) + waveforms_in(event.slot(board)).waveform_bytes(),
                                          wire::camera::first_cells_bytes)
                              : std::as_bytes(std::span(no_cells)));
    writer_.close();
}

}  // namespace anello::camera
