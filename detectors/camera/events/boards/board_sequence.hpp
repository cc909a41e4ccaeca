// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "camera/events/boards/board.hpp"
#include "camera/wire/camera.hpp"
#include "receive/numbers/sequence_log.hpp"
#include "receive/numbers/sequence_tracker.hpp"

namespace anello::camera {

/// What one board has sent, by its sequence numbers and the totals in its markers: which fragments are repetitions, and
/// how many are lost. The board itself counts fragments in sequence (CameraBoard::continues) until catch_up().
/// Hot path (all but the constructor): no allocation, no lock, no log, no throw.
class BoardSequence {
  public:
    BoardSequence() { tracker_.write_to(log_); }
    BoardSequence(const BoardSequence&) = delete;
    BoardSequence& operator=(const BoardSequence&) = delete;

    /// For a fragment that does not continue the sequence; false if its number has arrived before. A fragment whose
    /// number is far off is used by its event number anyway; the tracker gets its sequence number when the next
    /// fragment confirms it.
    bool accept(CameraBoard& board, std::uint32_t sequence) noexcept;
    /// Passes the fragments that the board has counted to the tracker.
    void catch_up(CameraBoard& board) noexcept;
    void begin_run(CameraBoard& board, std::uint32_t run_id) noexcept;
    void announce(CameraBoard& board, std::uint32_t next_sequence, const wire::camera::Totals& totals) noexcept;
    /// Counts a dropped fragment of another run. If that run begins, the fragment does not count as lost.
    void note_unused(std::uint32_t run_id) noexcept;

    /// The board is bound to a source: what it has sent before remains if that source is not the board.
    void note_source(CameraBoard& board) noexcept;
    /// The source so far was not the board, so its sequence and totals are discarded. Returns the number of its
    /// fragments already placed, which cannot be revoked.
    std::uint64_t disown(CameraBoard& board) noexcept;

    /// True if no announced fragment of this run is still to come.
    bool is_whole(CameraBoard& board) noexcept;
    std::uint64_t n_lost() const noexcept;  ///< after catch_up()
    std::uint64_t n_announced() const noexcept { return announced_before_ + announced_; }
    const receive::SequenceLog& close_log(CameraBoard& board) noexcept;

  private:
    receive::SequenceLog log_{4096, 64};
    receive::SequenceTracker tracker_;
    receive::SequenceTracker before_source_;    ///< tracker_ when the board was bound to its source
    std::uint64_t n_placed_before_source_ = 0;  ///< fragments placed when the board was bound to its source
    std::uint32_t stray_sequence_ = 0;
    bool has_stray_ = false;        ///< a fragment was used although its sequence number is not confirmed yet
    std::uint32_t unused_run_ = 0;  ///< a run from which fragments of this board were dropped
    std::uint64_t n_unused_ = 0;    ///< number of those dropped fragments
    std::uint64_t n_not_lost_ = 0;  ///< n_unused_ of this run: the tracker counts them as lost
    std::uint64_t announced_ = 0, announced_before_ = 0;  ///< fragments announced in this run; in earlier runs
};

}  // namespace anello::camera
