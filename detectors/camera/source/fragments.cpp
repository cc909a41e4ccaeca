// SPDX-License-Identifier: Apache-2.0
#include "camera/source/fragments.hpp"

#include "source/random.hpp"
#include "wire/payload_pattern.hpp"

namespace anello::camera {

namespace {

constexpr std::uint64_t cells_stream = 0xd254;

/// Random first cells for the start of the run, as the chips' rings run freely.
wire::camera::FirstCells cells_at_start(std::uint64_t seed, std::uint32_t board) {
    source::Random random(seed, source::mix64(cells_stream << 32 | board));
    wire::camera::FirstCells cells;
    for (std::uint16_t& cell : cells) cell = static_cast<std::uint16_t>(random.below(wire::camera::drs4_cells));
    return cells;
}

wire::camera::Header common_header(const CameraSourceConfig& config) {
    wire::camera::Header header{.flags = static_cast<std::uint8_t>(config.checksum ? wire::camera::with_checksum : 0),
                                .run_id = config.run_id,
                                .counters_kind = config.counters,
                                .payload_bytes = static_cast<std::uint16_t>(config.fragment_payload_bytes())};
    if (!config.has_shape()) return header;
    header.n_samples = static_cast<std::uint16_t>(config.shape.n_samples);
    header.n_pixels = static_cast<std::uint8_t>(config.shape.n_pixels);
    header.n_gains = static_cast<std::uint8_t>(config.shape.n_gains);
    return header;
}

}  // namespace

CameraFragments::CameraFragments(const CameraSourceConfig& config, CameraPool& pool)
    : pool_(pool),
      header_(common_header(config)),
      payload_(config.payload),
      first_board_(config.first_board),
      first_event_(config.first_event),
      join_(config.fragment_payload_bytes()) {
    for (std::uint32_t board = config.first_board; board < config.first_board + config.n_own_boards(); ++board)
        cells_at_start_.push_back(cells_at_start(config.seed, board));
}

std::span<const std::byte> CameraFragments::seal(const CameraTrigger& trigger, std::uint32_t stream) noexcept {
    header_.board = static_cast<std::uint16_t>(first_board_ + stream);
    header_.sequence = static_cast<std::uint32_t>(trigger.index);
    header_.event_number = trigger.event_number;
    header_.timestamp_ns = trigger.timestamp_ns;
    header_.trigger_tag = trigger.tag;
    header_.counters = counters_of(header_.counters_kind, trigger);
    const std::span<std::byte> datagram = pool_.datagram(trigger.pool_index, stream);
    if (payload_ == CameraPayload::pattern) {
        wire::write_pattern(datagram.subspan(wire::camera::header_bytes), header_.board, header_.event_number);
        wire::camera::seal(datagram, header_);
    } else {
        std::uint32_t payload_crc = pool_.payload_crc(trigger.pool_index, stream);
        if (header_.has_first_cells())
            payload_crc = write_first_cells(trigger, stream, datagram.subspan(wire::camera::header_bytes), payload_crc);
        wire::camera::seal(datagram, header_, payload_crc, join_);
    }
    return datagram;
}

/// Returns the payload's checksum.
std::uint32_t CameraFragments::write_first_cells(const CameraTrigger& trigger, std::uint32_t stream,
                                                 std::span<std::byte> payload,
                                                 std::uint32_t crc_of_waveforms) const noexcept {
    wire::camera::write_first_cells(payload, first_cells_of(cells_at_start_[stream], trigger.run_time_ns));
    return wire::crc32c(payload.last(wire::camera::first_cells_bytes), crc_of_waveforms);
}

/// Totals of a board: each trigger gave each board one fragment.
std::span<const std::byte> CameraFragments::write_marker(std::uint8_t flag, const CameraTrigger& next_trigger,
                                                         std::uint32_t stream,
                                                         std::span<std::byte> room) const noexcept {
    const wire::camera::Header header{.flags = flag,
                                      .board = static_cast<std::uint16_t>(first_board_ + stream),
                                      .run_id = header_.run_id,
                                      .event_number = next_trigger.event_number,
                                      .sequence = static_cast<std::uint32_t>(next_trigger.index),
                                      .timestamp_ns = next_trigger.timestamp_ns};
    const std::size_t fragment_bytes = wire::camera::header_bytes + header_.payload_bytes;
    const std::span<std::byte> marker = room.first(wire::camera::header_bytes + wire::camera::totals_bytes);
    wire::camera::write_marker(marker, header,
                               {.n_fragments = next_trigger.index,
                                .n_bytes = next_trigger.index * fragment_bytes,
                                .first_event = first_event_,
                                .next_event = next_trigger.event_number});
    return marker;
}

}  // namespace anello::camera
