// SPDX-License-Identifier: Apache-2.0
#include "camera/events/boards/board_sequence.hpp"

#include <algorithm>
#include <utility>

/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

bool BoardSequence::accept(CameraBoard& board, std::uint32_t sequence) noexcept {
    catch_up(board);
    const receive::Arrival arrival = tracker_.accept(sequence, 1);
    if (arrival == receive::Arrival::stray) {
        has_stray_ = true;
        stray_sequence_ = sequence;
    } else if (has_stray_) {
        has_stray_ = false;
        if (tracker_.preview(stray_sequence_) == receive::Arrival::late) tracker_.accept(stray_sequence_, 1);
    }
    board.next_sequence = tracker_.next();
    board.in_sequence = !has_stray_;
    return arrival != receive::Arrival::duplicate;
}

void BoardSequence::catch_up(CameraBoard& board) noexcept {
    const std::uint32_t n_fragments = std::exchange(board.n_in_sequence, 0);
    if (n_fragments > 0) tracker_.accept(board.next_sequence - n_fragments, n_fragments);
}

void BoardSequence::begin_run(CameraBoard& board, std::uint32_t run_id) noexcept {
    catch_up(board);
    if (tracker_.started()) tracker_.restart();
    if (unused_run_ == run_id) n_not_lost_ += std::exchange(n_unused_, 0);
    has_stray_ = false;
    announced_before_ += announced_;
    announced_ = 0;
    board.has_event = board.in_sequence = false;
    board.waited_since_ns = 0;
}

void BoardSequence::announce(CameraBoard& board, std::uint32_t next_sequence,
                             const wire::camera::Totals& totals) noexcept {
    catch_up(board);
    announced_ = std::max(announced_, totals.n_fragments);
    tracker_.announce_next(next_sequence);
    board.next_sequence = tracker_.next();
}

void BoardSequence::note_unused(std::uint32_t run_id) noexcept {
    if (unused_run_ != run_id) n_unused_ = 0;
    unused_run_ = run_id;
    ++n_unused_;
}

void BoardSequence::note_source(CameraBoard& board) noexcept {
    catch_up(board);
    before_source_ = tracker_;
    n_placed_before_source_ = board.n_placed;
}

std::uint64_t BoardSequence::disown(CameraBoard& board) noexcept {
    board.n_in_sequence = 0;
    board.in_sequence = false;
    tracker_ = before_source_;
    log_.missing.spoil();
    announced_ = 0;
    has_stray_ = false;
    return board.n_placed - n_placed_before_source_;
}

bool BoardSequence::is_whole(CameraBoard& board) noexcept {
    catch_up(board);
    return tracker_.is_whole();
}

std::uint64_t BoardSequence::n_lost() const noexcept {
    const std::uint64_t n_passed_over = tracker_.n_lost() + tracker_.n_before_joining();
    return n_passed_over - std::min(n_passed_over, n_not_lost_);
}

const receive::SequenceLog& BoardSequence::close_log(CameraBoard& board) noexcept {
    catch_up(board);
    tracker_.close_log();
    return log_;
}

}  // namespace anello::camera
