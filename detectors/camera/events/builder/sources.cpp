// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/builder.hpp"

/// The source address accepted for a board (receive/numbers/source_binding.hpp). Hot path except the first function:
/// no allocation, no lock, no log, no throw.
namespace anello::camera {

void CameraBuilder::expect_sources() noexcept {
    for (std::uint32_t i = 0; i < config_.boards.count && config_.boards.first + i < config_.sources.size(); ++i)
        histories_[i].source_watch.expect(config_.sources[config_.boards.first + i]);
}

/// Datagrams of unknown boards, or of boards that do not send to this port, count as such and not as strangers.
bool CameraBuilder::is_stranger(const Header& header, const receive::Datagram& datagram) noexcept {
    if (!is_known_sender(header, datagram.stream)) return false;
    receive::SourceBinding& binding = boards_[index_of(header)].source;
    if (!binding.is_bound_to(datagram.source) && judge_source(index_of(header), datagram.source)) [[unlikely]]
        return true;
    binding.note_accepted();
    return false;
}

/// True if the sender is a stranger.
bool CameraBuilder::judge_source(std::uint32_t board_index, receive::SourceAddress source) noexcept {
    using enum receive::SourceWatch::Judgement;
    CameraBoard& board = boards_[board_index];
    CameraBoardHistory& history = histories_[board_index];
    const bool was_bound = !(board.source.source() == receive::SourceAddress{});
    const Nanoseconds heard_ago_ns = input_ns_ - board.last_seen_ns.load(std::memory_order_relaxed);
    const auto judgement = history.source_watch.judge(board.source, source, true, heard_ago_ns);
    if (judgement == stranger) return true;
    if (was_bound) board_counters_[board_index].add(CameraBoardCounter::source_changes);
    board_counters_[board_index].add(CameraBoardCounter::mistaken_strangers, history.source_watch.take_mistaken());
    if (judgement == taken_over) disown(board_index);
    tell_tracker(board_index);
    history.sequence_before_source = history.sequence;
    history.n_placed_before_source = board.n_placed;
    return false;
}

/// The source so far was not the board, so its sequence and totals are discarded. Fragments already placed cannot be
/// revoked.
void CameraBuilder::disown(std::uint32_t board_index) noexcept {
    CameraBoard& board = boards_[board_index];
    CameraBoardHistory& history = histories_[board_index];
    board_counters_[board_index].add(CameraBoardCounter::disowned, board.n_placed - history.n_placed_before_source);
    while (hold_.size(board_index) > 0) drop_held(board_index, 0);
    if (history.vote == BoardVote::elsewhere) say(board_index, BoardVote::nothing);
    board.n_in_sequence = 0;
    board.in_sequence = false;
    history.sequence = history.sequence_before_source;
    history.log.missing.spoil();
    history.announced = 0;
    history.has_stray = false;
}

}  // namespace anello::camera
