// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/clock.hpp"
#include "events/batch_sink.hpp"
#include "events/board_stream.hpp"
#include "events/build_counters.hpp"
#include "events/event_batch.hpp"
#include "events/hit_copy.hpp"
#include "memory/persistent_buffers.hpp"

namespace anello::events {

/// Fills batches event by event and hands them on. The merger's thread calls all functions.
/// Hot path: no allocation, no lock, no log, no throw.
class BatchWriter {
  public:
    /// Throws ConfigError if a buffer is too small for a batch.
    BatchWriter(memory::PersistentBuffers& buffers, BatchSink& sink, const BatchShape& shape, const Clock& clock,
                Counters<BuildCounter> counters);

    bool is_open() const noexcept { return is_open_; }
    std::uint32_t n_events() const noexcept { return n_events_; }
    Nanoseconds first_event_ns() const noexcept { return first_event_ns_; }  ///< monotonic

    /// Makes sure that an open batch has room for one more event of n_hits (or is empty, if no batch can hold so many).
    /// Returns false if no buffer is free or the sink refuses; each such stall is counted once.
    bool make_room(std::uint32_t n_hits, std::uint32_t burst_id) noexcept {
        if (is_open_ && n_hits <= shape_.max_hits - n_hits_) return true;
        return make_room_slowly(burst_id);
    }

    void begin_event(FineTime time) noexcept {
        event_time_ = time;
        sent_less_1_ = ~std::uint64_t{0};
        kernel_ns_ = placed_ns_ = 0;
    }

    void append(const Fragment& fragment, FineTime time) noexcept {
        const std::uint32_t n = std::min(fragment.n_hits, shape_.max_hits - n_hits_);
        const auto offset = static_cast<std::int16_t>(time - event_time_);
        copy_hits(fragment.hit_id, n, columns_.hit_id + n_hits_, CopyAsIs{});
        if (offset == 0)
            copy_hits(fragment.hit_time_fine, n, columns_.hit_time_fine + n_hits_, CopyAsIs{});
        else
            copy_hits(fragment.hit_time_fine, n, columns_.hit_time_fine + n_hits_, CopyShifted{offset});
        n_hits_ += n;
        n_truncated_ += fragment.n_hits - n;
        // 0 means unknown; minus 1 it wraps to the largest value, so the minimum ignores it
        sent_less_1_ = std::min(sent_less_1_, static_cast<std::uint64_t>(fragment.sent_ns) - 1);
        kernel_ns_ = std::max(kernel_ns_, fragment.kernel_ns);
        placed_ns_ = std::max(placed_ns_, fragment.placed_ns);
    }

    void end_event(std::uint32_t missing_boards) noexcept {
        const std::uint32_t event = n_events_++;
        columns_.event_key[event] = event_key(burst_id_, static_cast<std::uint32_t>(ticks_of(event_time_)));
        columns_.fine_time[event] = static_cast<std::uint8_t>(event_time_);
        columns_.missing_boards[event] = missing_boards;
        columns_.flags[event] = missing_boards != 0 ? EventFlag::incomplete : 0;
        columns_.hit_offset[n_events_] = n_hits_;
        columns_.sent_ns[event] = static_cast<Nanoseconds>(sent_less_1_ + 1);
        columns_.kernel_ns[event] = kernel_ns_;
        columns_.placed_ns[event] = placed_ns_;
        if (n_truncated_ != 0) flag_truncated(event);
        if (n_events_ == shape_.max_events) close(false);
    }

    /// Sets the time origin of the burst that is being merged, which all later batches carry.
    void set_burst_origin(Nanoseconds wall_ns) noexcept { burst_origin_ns_ = wall_ns; }

    /// Hands the open batch on. There must be one.
    void close(bool end_of_burst) noexcept;
    /// Offers a refused batch to the sink again. Returns true if no batch is left.
    bool flush() noexcept;

    /// Call these when merging begins and ends (monotonic); the time between counts for the batch that is open.
    void begin_work(Nanoseconds now_ns) noexcept { work_began_ns_ = now_ns; }
    void end_work(Nanoseconds now_ns) noexcept {
        cpu_ns_ += now_ns - work_began_ns_;
        work_began_ns_ = now_ns;
    }

  private:
    bool make_room_slowly(std::uint32_t burst_id) noexcept;
    void flag_truncated(std::uint32_t event) noexcept;

    BatchShape shape_;
    BatchColumns columns_{};
    std::uint32_t n_events_ = 0, n_hits_ = 0;
    FineTime event_time_ = 0;
    std::uint64_t sent_less_1_ = 0;
    Nanoseconds kernel_ns_ = 0, placed_ns_ = 0;
    std::uint32_t n_truncated_ = 0;  ///< hits of the current event
    std::uint32_t burst_id_ = 0;
    std::uint32_t buffer_ = 0;
    bool is_open_ = false;
    bool is_stalled_ = false;
    Nanoseconds burst_origin_ns_ = 0;
    Nanoseconds first_event_ns_ = 0, work_began_ns_ = 0, cpu_ns_ = 0;
    memory::PersistentBuffers& buffers_;
    BatchSink& sink_;
    BatchCompletion refused_{};
    bool has_refused_ = false;
    const Clock& clock_;
    Counters<BuildCounter> counters_;
};

}  // namespace anello::events
