// SPDX-License-Identifier: Apache-2.0
#include "camera/events/boards/sources.hpp"

namespace anello::camera {

CameraSources::CameraSources(std::span<const BoardRange> stream_boards,
                             std::span<const receive::SourceAddress> expected, GroupBoards& boards)
    : stream_boards_(stream_boards),
      boards_(boards),
      watches_(std::make_unique<receive::SourceWatch[]>(boards.count())) {
    for (std::uint32_t i = 0; i < boards.count() && boards.number_of(i) < expected.size(); ++i)
        watches_[i].expect(expected[boards.number_of(i)]);
}

// Hot path: no allocation, no lock, no log, no throw.
CameraSources::Judgement CameraSources::judge(std::uint32_t board_index, receive::SourceAddress source,
                                              Nanoseconds input_ns) noexcept {
    CameraBoard& board = boards_[board_index];
    receive::SourceWatch& watch = watches_[board_index];
    Counters<CameraBoardCounter>& counters = boards_.counters(board_index);
    const bool was_bound = !(board.source.source() == receive::SourceAddress{});
    const Nanoseconds heard_ago_ns = input_ns - board.last_seen_ns.load(std::memory_order_relaxed);
    const Judgement judgement = watch.judge(board.source, source, true, heard_ago_ns);
    if (judgement == Judgement::stranger) return judgement;
    if (was_bound) counters.add(CameraBoardCounter::source_changes);
    counters.add(CameraBoardCounter::mistaken_strangers, watch.take_mistaken());
    BoardSequence& sequence = boards_.sequence(board_index);
    if (judgement == Judgement::taken_over) counters.add(CameraBoardCounter::disowned, sequence.disown(board));
    sequence.note_source(board);
    board.source.note_accepted();
    return judgement;
}

}  // namespace anello::camera
