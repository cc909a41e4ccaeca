// SPDX-License-Identifier: Apache-2.0
#include "rich/source/packet_sender.hpp"

#include "source/send_books.hpp"
#include "wire/mgp.hpp"

namespace anello::rich {

namespace mgp = wire::mgp;

PacketSender::PacketSender(std::span<const source::BoardEndpoint> endpoints, Format format,
                           const source::FaultsConfig& faults, std::uint64_t seed, source::PacketSlots& slots,
                           source::PacketSink& sink, CounterPage& page)
    : format_(format), config_(faults), slots_(slots), sink_(sink) {
    for (const source::BoardEndpoint& endpoint : endpoints)
        boards_.push_back({endpoint.board, source::FaultInjector(faults, seed, endpoint.board),
                           page.add_block<source::SourceCounter>("source.board" + std::to_string(endpoint.board)),
                           source::SentLog(source::max_withheld_ranges(endpoints.size()))});
}

void PacketSender::send(std::span<const source::ClosedPacket> packets, Nanoseconds wall_ns,
                        std::uint64_t& sends) noexcept {
    wall_ns_ = wall_ns;
    for (const source::ClosedPacket& packet : packets) {
        // A packet puts out three datagrams at most (itself, its duplicate, one held before) and ends two slots' use.
        if (n_out_ + 3 > out_.size() || n_done_ + 2 > done_slots_.size()) hand_over();
        Board& board = boards_[packet.stream];
        packet.is_marker() ? send_marker(board, packet) : send_data(board, packet);
    }
    hand_over();
    sends += n_sends_;
    n_sends_ = 0;
}

bool PacketSender::is_dead(const Board& board, const source::ClosedPacket& packet) const noexcept {
    return config_.dead_board == std::int32_t{board.board} && packet.burst_id >= config_.dead_from_burst;
}

void PacketSender::seal(const source::ClosedPacket& packet, Nanoseconds wall_ns) noexcept {
    if (format_ != Format::mgp) return;
    const mgp::Header header{.flags = packet.flags,
                             .source_id = boards_[packet.stream].board,
                             .n_events = static_cast<std::uint16_t>(packet.n_fragments),
                             .sequence = packet.sequence,
                             .burst_id = packet.burst_id,
                             .send_time_ns = static_cast<std::uint64_t>(wall_ns)};
    mgp::seal(slots_.packet(packet.slot), header, packet.length_bytes - mgp::header_bytes);
}

void PacketSender::send_marker(Board& board, const source::ClosedPacket& packet) noexcept {
    release_held(board);
    done_slots_[n_done_++] = packet.slot;
    if (is_dead(board, packet)) return;
    seal(packet, (packet.flags & mgp::start_of_burst) != 0 ? burst_wall_ns_ : wall_ns_);
    board.counters.add(source::SourceCounter::burst_markers);
    put_out(packet);
}

void PacketSender::send_data(Board& board, source::ClosedPacket packet) noexcept {
    Counters<source::SourceCounter>& count = board.counters;
    const std::uint32_t n = packet.n_fragments;
    count.add(source::SourceCounter::packets);
    count.add(source::SourceCounter::fragments, n);
    count.add(source::SourceCounter::hits, packet.n_hits);
    count.add(source::SourceCounter::bytes, packet.length_bytes);
    board.log.made.add(packet.epoch, packet.first_number, packet.first_number + packet.n_numbers);
    const source::Fault fault = board.faults.next();
    if (is_dead(board, packet)) {
        count.add(source::SourceCounter::packets_dead_board);
        count.add(source::SourceCounter::fragments_dead_board, n);
        withhold(board, packet, source::Withheld::board_dead);
        done_slots_[n_done_++] = packet.slot;
        return;
    }
    if (fault == source::Fault::loss) {
        count.add(source::SourceCounter::packets_lost_injected);
        count.add(source::SourceCounter::fragments_lost_injected, n);
        withhold(board, packet, source::Withheld::lost_on_purpose);
        done_slots_[n_done_++] = packet.slot;
        return;
    }
    seal(packet, wall_ns_);
    if (fault == source::Fault::reorder && !board.holds) {
        board.holds = true;
        board.held = packet;
        count.add(source::SourceCounter::packets_reordered_injected);
        return;
    }
    if (fault == source::Fault::corrupt) {
        board.faults.corrupt(slots_.packet(packet.slot).first(packet.length_bytes));
        count.add(source::SourceCounter::packets_corrupted_injected);
        count.add(source::SourceCounter::fragments_corrupted_injected, n);
        withhold(board, packet, source::Withheld::corrupted_on_purpose);
    }
    if (fault == source::Fault::truncate) {
        packet.length_bytes = static_cast<std::uint32_t>(board.faults.truncated_length(packet.length_bytes));
        count.add(source::SourceCounter::packets_truncated_injected);
        count.add(source::SourceCounter::fragments_truncated_injected, n);
        withhold(board, packet, source::Withheld::truncated_on_purpose);
    }
    put_out(packet);
    if (fault == source::Fault::duplicate) {
        put_out(packet);
        count.add(source::SourceCounter::packets_duplicated_injected);
        count.add(source::SourceCounter::fragments_duplicated_injected, n);
    }
    done_slots_[n_done_++] = packet.slot;
    release_held(board);
}

void PacketSender::withhold(Board& board, const source::ClosedPacket& packet, source::Withheld why) noexcept {
    board.log.withhold(packet.epoch, packet.first_number, packet.first_number + packet.n_numbers, why);
}

void PacketSender::release_held(Board& board) noexcept {
    if (!board.holds) return;
    board.holds = false;
    put_out(board.held);
    done_slots_[n_done_++] = board.held.slot;
}

void PacketSender::put_out(const source::ClosedPacket& packet) noexcept {
    out_[n_out_++] = {slots_.packet(packet.slot).first(packet.length_bytes),
                      packet.stream,
                      packet.n_fragments,
                      packet.epoch,
                      packet.first_number,
                      packet.n_numbers};
}

void PacketSender::hand_over() noexcept {
    if (n_out_ > 0) {
        sink_.send(std::span(out_).first(n_out_), wall_ns_, results_.data());
        ++n_sends_;
        count_results();
    }
    for (std::size_t i = 0; i < n_done_; ++i) slots_.give_back(done_slots_[i]);
    n_out_ = n_done_ = 0;
}

void PacketSender::count_results() noexcept {
    for (std::size_t i = 0; i < n_out_; ++i) {
        Board& board = boards_[out_[i].stream];
        count_result(board.counters, board.log, out_[i], results_[i]);
    }
}

}  // namespace anello::rich
