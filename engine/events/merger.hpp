// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "events/batch_writer.hpp"
#include "events/board_join.hpp"

namespace anello::events {

/// Builds events from the fragments of all boards within a time window that begins with the earliest fragment.
///
/// An event is handed on when every board has given its fragment, has given a later one, or is no longer waited for.
/// Each fragment has one outcome: merged, late (its event or burst has been handed on) or duplicate (same board and
/// time as the previous one).
///
/// A fragment is late if it is earlier than the last event, or within the window after it and from a board that the
/// event lacks. The next fragment of a board in the last event begins a new event, however close it is.
class Merger final : public BoardJoin {
  public:
    /// Source, buffers, sink and clock must outlive the merger. Throws ConfigError. Counters are added to `page` as
    /// "build" and "build.board0" and so on.
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
    BoardMask last_members_ = 0;  ///< boards in the last event, whose time is last_ticks_
    bool has_last_ = false;
    std::uint64_t n_merged_ = 0, n_complete_ = 0, n_incomplete_ = 0;
    BatchWriter writer_;
    const Clock& clock_;
};

}  // namespace anello::events
