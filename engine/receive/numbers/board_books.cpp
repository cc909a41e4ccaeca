// SPDX-License-Identifier: Apache-2.0
#include "receive/numbers/board_books.hpp"

#include <algorithm>

namespace anello::receive {
namespace {

constexpr std::size_t most_ranges_of_all = 1U << 20;

}  // namespace

BoardBooks::BoardBooks(ParsePacket parse, std::uint32_t n_boards, std::span<const SourceAddress> sources,
                       CounterPage& page)
    : parse_(parse), verdicts_(page.add_block<wire::Verdict>("receive.verdict")) {
    for (std::uint32_t i = 0; i < n_boards; ++i) {
        boards_.emplace_back(page.add_block<PacketCounter>("receive.board" + std::to_string(i)),
                             std::min<std::size_t>(65'536, most_ranges_of_all / n_boards));
        if (i < sources.size()) boards_.back().source.expect(sources[i]);
    }
}

bool BoardBooks::take(const Datagram& datagram, NumberedPacket& packet) noexcept {
    wire::Verdict verdict = datagram.cut ? wire::Verdict::wrong_length : parse_(datagram.bytes, packet);
    if (verdict == wire::Verdict::ok && packet.board >= boards_.size()) verdict = wire::Verdict::unknown_source;
    verdicts_.add(verdict);
    if (verdict != wire::Verdict::ok) return false;
    Board& board = boards_[packet.board];
    board.counters.add(PacketCounter::packets);
    const PacketCounter fate = reject_stranger(board, datagram.source)
                                   ? PacketCounter::strangers
                                   : follow(board, packet.sequence, PacketContents::of(datagram.bytes));
    board.counters.add(fate);
    board.next.store(board.numbers.tracker().next(), std::memory_order_relaxed);
    return fate == PacketCounter::used;
}

PacketCounter BoardBooks::follow(Board& board, std::uint32_t sequence, std::uint32_t content) noexcept {
    switch (board.numbers.take(sequence, 1, content)) {
        case Arrival::duplicate:
            return PacketCounter::duplicates;
        case Arrival::conflicting:
            return PacketCounter::conflicting;
        case Arrival::stray:
            return PacketCounter::strays;
        case Arrival::in_order:
        case Arrival::late:
        case Arrival::restarted:
            break;
    }
    return PacketCounter::used;
}

bool BoardBooks::reject_stranger(Board& board, SourceAddress source) noexcept {
    using Heard = BoardSource::Heard;
    const Heard heard = board.source.hear(source, now_ns_, read_until_ns_);
    if (heard == Heard::moved || heard == Heard::taken_over) board.counters.add(PacketCounter::source_changes);
    if (heard == Heard::taken_over) revoke_source(board);
    return heard == Heard::stranger;
}

/// Takes back everything counted so far, because it did not come from the board.
void BoardBooks::revoke_source(Board& board) noexcept {
    board.counters.set(PacketCounter::disowned, board.counters[PacketCounter::used]);
    board.numbers.clear();
}

std::uint32_t BoardBooks::n_boards_at(std::uint64_t sequence) const noexcept {
    return static_cast<std::uint32_t>(std::ranges::count_if(
        boards_, [&](const Board& board) { return board.next.load(std::memory_order_relaxed) >= sequence; }));
}

void BoardBooks::close() noexcept {
    for (Board& board : boards_) board.numbers.close_log();
}

}  // namespace anello::receive
