// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "camera/events/boards/group_boards.hpp"
#include "receive/numbers/source_binding.hpp"

namespace anello::camera {

/// The sources accepted for each board of a group: by the port at which datagrams arrive, and by the address that they
/// come from (receive/numbers/source_binding.hpp).
class CameraSources {
  public:
    using Judgement = receive::SourceWatch::Judgement;

    /// `stream_boards`: the boards that send to each stream, must outlive this; empty: any board may send to any
    /// stream. `expected`: by board number; boards beyond its end may send from any source.
    CameraSources(std::span<const BoardRange> stream_boards, std::span<const receive::SourceAddress> expected,
                  GroupBoards& boards);

    /// Hot path, these three: no allocation, no lock, no log, no throw. knows(): the board is of this group, and sends
    /// to this stream.
    bool knows(std::uint32_t board, std::uint16_t stream) const noexcept {
        if (stream_boards_.empty()) return boards_.contains(board);
        return stream < stream_boards_.size() && stream_boards_[stream].contains(board);
    }
    /// True for a datagram from the board's source; all others are for judge(), which binds the board to the sender
    /// unless that is a stranger.
    bool accepts(std::uint32_t board_index, receive::SourceAddress source) noexcept {
        receive::SourceBinding& binding = boards_[board_index].source;
        if (!binding.is_bound_to(source)) [[unlikely]]
            return false;
        binding.note_accepted();
        return true;
    }
    Judgement judge(std::uint32_t board_index, receive::SourceAddress source, Nanoseconds input_ns) noexcept;

    /// Any thread.
    receive::Speakers speakers(std::uint32_t board_index) const noexcept {
        return receive::Speakers::of(boards_[board_index].source, watches_[board_index]);
    }

  private:
    std::span<const BoardRange> stream_boards_;
    GroupBoards& boards_;
    std::unique_ptr<receive::SourceWatch[]> watches_;  ///< by board
};

}  // namespace anello::camera
