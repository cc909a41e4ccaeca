// SPDX-License-Identifier: Apache-2.0
#include "camera/source/sender.hpp"

#include <algorithm>
#include <utility>

#include "source/random.hpp"
#include "source/send_books.hpp"
#include "wire/payload_pattern.hpp"

namespace anello::camera {

namespace {

constexpr std::uint32_t max_out_per_fragment = 3;  // itself, its duplicate, one held before
constexpr std::uint32_t n_spare_copies = 64;

constexpr std::uint64_t cells_stream = 0xd254;

/// Anywhere: the chips' rings run freely.
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

CameraSender::CameraSender(const CameraSourceConfig& config, CameraPool& pool, source::PacketSink& sink,
                           CounterPage& page)
    : pool_(pool),
      sink_(sink),
      header_(common_header(config)),
      payload_(config.payload),
      faults_(config.faults),
      join_(config.fragment_payload_bytes()),
      copies_(config.n_own_boards() + n_spare_copies, wire::camera::header_bytes + config.fragment_payload_bytes(), 0),
      markers_(config.n_own_boards() * (wire::camera::header_bytes + wire::camera::totals_bytes)) {
    done_.reserve(config.n_own_boards() + n_spare_copies);
    for (std::uint32_t board = config.first_board; board < config.first_board + config.n_own_boards(); ++board)
        boards_.push_back({static_cast<std::uint16_t>(board),
                           source::FaultInjector(config.faults, config.seed, board),
                           page.add_block<source::SourceCounter>("source.board" + std::to_string(board)),
                           source::SentLog(source::max_withheld_ranges(config.n_own_boards())),
                           {.first_event = config.first_event, .next_event = config.first_event},
                           cells_at_start(config.seed, board)});
}

bool CameraSender::is_dead(const Board& board, std::uint64_t index) const noexcept {
    return faults_.dead_board == std::int32_t{board.board} && index >= faults_.dead_from_event;
}

/// A batch may not hold a place of the pool twice, since the second fragment would overwrite the first.
void CameraSender::add_fragments(const CameraTrigger& trigger, std::uint32_t first, std::uint32_t end) noexcept {
    if (n_triggers_ == pool_.n_events() || n_out_ + (end - first) > out_.size()) flush();
    for (std::uint32_t stream = first; stream < end; ++stream) add_fragment(trigger, stream);
    ++n_triggers_;
}

void CameraSender::add_fragment(const CameraTrigger& trigger, std::uint32_t stream) noexcept {
    if (n_out_ + max_out_per_fragment > out_.size() || copies_.n_free() == 0) flush();
    Board& board = boards_[stream];
    const std::size_t n_bytes = wire::camera::header_bytes + header_.payload_bytes;
    const source::Fault fault = board.faults.next();
    const std::uint64_t sequence = board.totals.n_fragments++;
    board.totals.n_bytes += n_bytes;
    board.totals.next_event = trigger.event_number + 1;
    Counters<source::SourceCounter>& count = board.counters;
    count.add(source::SourceCounter::packets);
    count.add(source::SourceCounter::fragments);
    count.add(source::SourceCounter::bytes, n_bytes);
    board.log.made.add(0, sequence, sequence + 1);
    if (is_dead(board, trigger.index)) {
        count.add(source::SourceCounter::packets_dead_board);
        count.add(source::SourceCounter::fragments_dead_board);
        board.log.withhold(0, sequence, sequence + 1, source::Withheld::board_dead);
        return;
    }
    if (fault == source::Fault::loss) {
        count.add(source::SourceCounter::packets_lost_injected);
        count.add(source::SourceCounter::fragments_lost_injected);
        board.log.withhold(0, sequence, sequence + 1, source::Withheld::lost_on_purpose);
        return;
    }
    header_.board = board.board;
    header_.sequence = static_cast<std::uint32_t>(sequence);
    const std::span<std::byte> datagram = seal(trigger, stream);
    if (fault == source::Fault::none && board.held_slot == no_slot)
        put_out(datagram, stream, sequence, 1);
    else
        put_out_with(fault, stream, datagram);
}

std::span<std::byte> CameraSender::seal(const CameraTrigger& trigger, std::uint32_t stream) noexcept {
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
std::uint32_t CameraSender::write_first_cells(const CameraTrigger& trigger, std::uint32_t stream,
                                              std::span<std::byte> payload, std::uint32_t crc_of_waveforms) noexcept {
    wire::camera::write_first_cells(payload, first_cells_of(boards_[stream].cells_at_start, trigger.run_time_ns));
    return wire::crc32c(payload.last(wire::camera::first_cells_bytes), crc_of_waveforms);
}

void CameraSender::put_out_with(source::Fault fault, std::uint32_t stream, std::span<std::byte> datagram) noexcept {
    Board& board = boards_[stream];
    Counters<source::SourceCounter>& count = board.counters;
    const std::uint64_t number = board.totals.n_fragments - 1;
    if (fault == source::Fault::reorder && board.held_slot == no_slot) {
        board.held_slot = copy(datagram);
        board.held_number = number;
        count.add(source::SourceCounter::packets_reordered_injected);
        return;
    }
    if (fault == source::Fault::corrupt) {
        const std::uint32_t slot = copy(datagram);
        datagram = copies_.packet(slot);
        board.faults.corrupt(datagram);
        done_.push_back(slot);
        count.add(source::SourceCounter::packets_corrupted_injected);
        count.add(source::SourceCounter::fragments_corrupted_injected);
        board.log.withhold(0, number, number + 1, source::Withheld::corrupted_on_purpose);
    }
    if (fault == source::Fault::truncate) {
        datagram = datagram.first(board.faults.truncated_length(datagram.size()));
        count.add(source::SourceCounter::packets_truncated_injected);
        count.add(source::SourceCounter::fragments_truncated_injected);
        board.log.withhold(0, number, number + 1, source::Withheld::truncated_on_purpose);
    }
    put_out(datagram, stream, number, 1);
    if (fault == source::Fault::duplicate) {
        put_out(datagram, stream, number, 1);
        count.add(source::SourceCounter::packets_duplicated_injected);
        count.add(source::SourceCounter::fragments_duplicated_injected);
    }
    release_held(stream);
}

std::uint32_t CameraSender::copy(std::span<const std::byte> datagram) noexcept {
    const std::uint32_t slot = copies_.take();
    std::copy(datagram.begin(), datagram.end(), copies_.at(slot));
    return slot;
}

void CameraSender::release_held(std::uint32_t stream) noexcept {
    const std::uint32_t slot = std::exchange(boards_[stream].held_slot, no_slot);
    if (slot == no_slot) return;
    put_out(copies_.packet(slot), stream, boards_[stream].held_number, 1);
    done_.push_back(slot);
}

void CameraSender::send_markers(std::uint8_t flag, const CameraTrigger& next_trigger) noexcept {
    flush();
    wire::camera::Header header{.flags = flag,
                                .run_id = header_.run_id,
                                .event_number = next_trigger.event_number,
                                .timestamp_ns = next_trigger.timestamp_ns};
    for (std::uint32_t stream = 0; stream < boards_.size(); ++stream) {
        if (n_out_ + max_out_per_fragment > out_.size()) flush();
        Board& board = boards_[stream];
        release_held(stream);
        if (is_dead(board, next_trigger.index)) continue;
        header.board = board.board;
        header.sequence = static_cast<std::uint32_t>(board.totals.n_fragments);
        constexpr std::size_t marker_bytes = wire::camera::header_bytes + wire::camera::totals_bytes;
        const auto marker = std::span(markers_).subspan(stream * marker_bytes, marker_bytes);
        wire::camera::write_marker(marker, header, board.totals);
        board.counters.add(source::SourceCounter::burst_markers);
        put_out(marker, stream, 0, 0);
    }
    flush();
}

void CameraSender::put_out(std::span<const std::byte> bytes, std::uint32_t stream, std::uint64_t number,
                           std::uint32_t n_fragments) noexcept {
    out_[n_out_++] = {bytes, stream, n_fragments, 0, number, n_fragments};
}

void CameraSender::flush() noexcept {
    n_triggers_ = 0;
    if (n_out_ == 0) return;
    sink_.send(std::span(out_).first(n_out_), wall_ns_, results_.data());
    ++n_sends_;
    for (std::size_t i = 0; i < n_out_; ++i) {
        Board& board = boards_[out_[i].stream];
        count_result(board.counters, board.log, out_[i], results_[i]);
    }
    for (const std::uint32_t slot : done_) copies_.give_back(slot);
    done_.clear();
    n_out_ = 0;
}

}  // namespace anello::camera
