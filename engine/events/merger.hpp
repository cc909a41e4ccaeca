// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "events/batch_writer.hpp"
#include "events/board_join.hpp"

namespace anello::events {

/// Builds events: the fragments of all boards that lie within a window after the earliest of them.
///
/// An event is handed on when every board has given its fragment or is past the event, which shows in a later fragment,
/// or is not waited for any more. Every fragment that comes in
/// has one outcome: merged, late (its event or burst has gone) or duplicate (same board, same time as its last).
///
/// LATE: earlier than the last event; or within the window after it, from a board which that event lacks. A board that
/// is in the last event continues: its next fragment begins a new event, however close.
class Merger final : public BoardJoin {
  public:
    /// Source, buffers, sink and clock must outlive the merger. Throws ConfigError.
    /// Counters are added to `page` as "build" and "build.board0" and so on.
    Merger(const MergerConfig& config, BlockSource& source, memory::PersistentBuffers& batches, BatchSink& sink,
           const Clock& clock, CounterPage& page, const std::string& block_name = "build");

  private:
    bool try_make_way() noexcept override { return writer_.flush(); }
    std::size_t join(Nanoseconds now_ns) noexcept override;
    void begin_joining() noexcept override { has_last_ = false; }
    bool try_begin_anew() noexcept override;
    bool try_end_joining() noexcept override;
    void end_step(Nanoseconds now_ns, std::size_t work) noexcept override;
    std::uint64_t late_before(std::uint32_t board) const noexcept override;

    std::size_t merge() noexcept;
    bool build_event(FineTime first) noexcept;
    void append(BoardMask members, FineTime first) noexcept;
    void reject(BoardMask members) noexcept;
    void count_missing(BoardMask missing) noexcept;

    std::uint32_t window_ticks_;
    BoardMask last_members_ = 0;  ///< of the last event, whose time is last_ticks_
    bool has_last_ = false;
    std::uint64_t n_merged_ = 0, n_complete_ = 0, n_incomplete_ = 0;
    BatchWriter writer_;
    const Clock& clock_;
};

}  // namespace anello::events
