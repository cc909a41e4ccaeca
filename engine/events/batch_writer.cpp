// SPDX-License-Identifier: Apache-2.0
#include "events/batch_writer.hpp"

#include <string>

#include "core/assert.hpp"
#include "core/errors.hpp"

namespace anello::events {

BatchWriter::BatchWriter(memory::PersistentBuffers& buffers, BatchSink& sink, const BatchShape& shape,
                         const Clock& clock, Counters<BuildCounter> counters)
    : shape_(shape), buffers_(buffers), sink_(sink), clock_(clock), counters_(counters) {
    if (buffers.buffer_bytes() < batch_bytes(shape))
        throw ConfigError("buffers", "a buffer must hold a batch of " + std::to_string(batch_bytes(shape)) + " bytes",
                          std::to_string(buffers.buffer_bytes()), "Size buffers by events::batch_bytes.");
}

bool BatchWriter::make_room_slowly(std::uint32_t burst_id) noexcept {
    if (is_open_) {
        if (n_events_ == 0) return true;
        close(false);
    }
    if (!flush() || !buffers_.try_take_free(buffer_)) {
        if (!is_stalled_) counters_.add(BuildCounter::stalls_no_buffer);
        is_stalled_ = true;
        return false;
    }
    is_stalled_ = false;
    is_open_ = true;
    columns_ = columns_of(buffers_.bytes(buffer_), shape_);
    columns_.hit_offset[0] = 0;
    n_events_ = n_hits_ = 0;
    burst_id_ = burst_id;
    cpu_ns_ = 0;
    first_event_ns_ = work_began_ns_;
    return true;
}

void BatchWriter::flag_truncated(std::uint32_t event) noexcept {
    columns_.flags[event] |= EventFlag::truncated;
    counters_.add(BuildCounter::hits_truncated, n_truncated_);
    counters_.add(BuildCounter::events_truncated);
    n_truncated_ = 0;
}

void BatchWriter::close(bool end_of_burst) noexcept {
    ANELLO_ASSERT(is_open_ && !has_refused_);
    end_work(clock_.monotonic_ns());
    refused_ = {buffer_, n_events_, n_hits_, burst_id_, end_of_burst, burst_origin_ns_, clock_.wall_ns(), cpu_ns_};
    has_refused_ = true;
    is_open_ = false;
    n_events_ = n_hits_ = 0;
    flush();
}

bool BatchWriter::flush() noexcept {
    if (!has_refused_) return true;
    if (!sink_.try_give(refused_)) return false;
    has_refused_ = false;
    counters_.add(BuildCounter::events_out, refused_.n_events);
    counters_.add(BuildCounter::hits_merged, refused_.n_hits);
    counters_.add(BuildCounter::batches_out);
    return true;
}

}  // namespace anello::events
