// SPDX-License-Identifier: Apache-2.0
#include "receive/boards/block_filler.hpp"

#include "core/assert.hpp"

namespace anello::receive {
namespace {

ReceiveCounter counter_of(CloseReason reason) noexcept {
    switch (reason) {
        case CloseReason::size:
            return ReceiveCounter::blocks_by_size;
        case CloseReason::gathering_time:
            return ReceiveCounter::blocks_by_gathering_time;
        case CloseReason::end_of_burst:
            return ReceiveCounter::blocks_by_end_of_burst;
        case CloseReason::disowned:
            return ReceiveCounter::blocks_by_take_over;
        case CloseReason::stop:
            break;
    }
    return ReceiveCounter::blocks_by_stop;
}

}  // namespace

BlockFiller::BlockFiller(const StreamConfig& config, std::uint16_t stream, BlockStream& out,
                         Counters<ReceiveCounter> counters, const Clock& clock)
    : config_(config),
      stream_(stream),
      out_(out),
      counters_(counters),
      clock_(clock),
      read_until_ns_(clock.monotonic_ns()),
      scratch_(block_bytes(out.shape())) {
    validate(config, out.shape());
}

/// Waiting ends of bursts go before any new block.
void BlockFiller::open_slowly() noexcept {
    std::uint32_t buffer = 0;
    if (give_waiting_ends() && out_.buffers().try_take_free(buffer)) return open_block(buffer);
    if (target_ == Target::scratch) return;
    target_ = Target::scratch;
    writer_.open(columns_of(scratch_, out_.shape()), out_.shape());
}

bool BlockFiller::makes_room_slowly() noexcept {
    const bool was_closed = target_ == Target::none;
    if (was_closed) open_slowly();
    return (target_ == Target::scratch && reclaim_oldest()) || was_closed;
}

void BlockFiller::open_block(std::uint32_t buffer) noexcept {
    target_ = Target::block;
    buffer_ = buffer;
    writer_.open(out_.columns(buffer), out_.shape());
}

void BlockFiller::note_opened(std::uint32_t burst_id) noexcept {
    burst_id_ = burst_id;
    opened_ = {clock_.wall_ns(), clock_.monotonic_ns(), read_until_ns_};
}

/// Policy overwrite_oldest: takes back the oldest block that the builder has not taken. If that block carried an end of
/// burst, the end is sent again later, perhaps after blocks of the next burst. A disowned notice is not sent again:
/// after the board's own blocks it would apply to those.
bool BlockFiller::reclaim_oldest() noexcept {
    Completion oldest;
    if (config_.full_policy != FullPolicy::overwrite_oldest || !out_.completions().try_withdraw_oldest(oldest))
        return false;
    counters_.add(ReceiveCounter::overwritten_packets, oldest.n_packets);
    counters_.add(ReceiveCounter::overwritten_fragments, oldest.n_fragments);
    counters_.add(ReceiveCounter::overwritten_hits, oldest.n_hits);
    open_block(oldest.buffer);
    const EndNotice notice{oldest.burst_id, oldest.reason};
    const bool carries_end = oldest.reason >= CloseReason::end_of_burst;
    if (oldest.reason == CloseReason::disowned || (carries_end && !waiting_ends_.try_add(notice)))
        counters_.add(ReceiveCounter::lost_end_notices);
    return true;
}

void BlockFiller::end_burst(std::uint32_t burst_id) noexcept {
    if (has_packets() && burst_id_ == burst_id) return close(CloseReason::end_of_burst);
    if (has_packets()) close(CloseReason::gathering_time);
    notify_end({burst_id, CloseReason::end_of_burst});
}

void BlockFiller::disown() noexcept {
    if (has_packets()) close(CloseReason::gathering_time);
    notify_end({burst_id_, CloseReason::disowned});
}

void BlockFiller::finish(const BurstFollower& bursts) noexcept {
    if (has_packets())
        close(CloseReason::stop);
    else if (bursts.has_burst() && !bursts.has_ended(bursts.burst_id()))
        notify_end({bursts.burst_id(), CloseReason::stop});
}

void BlockFiller::notify_end(EndNotice notice) noexcept {
    if (!waiting_ends_.try_add(notice)) counters_.add(ReceiveCounter::lost_end_notices);
    give_waiting_ends();
}

bool BlockFiller::give_waiting_ends() noexcept {
    while (!waiting_ends_.empty() && try_give_end(waiting_ends_.oldest())) waiting_ends_.remove_oldest();
    return waiting_ends_.empty();
}

/// An end of burst is carried by the open block's buffer if that is empty, otherwise by a free buffer.
bool BlockFiller::try_give_end(const EndNotice& notice) noexcept {
    std::uint32_t buffer = buffer_;
    if (target_ == Target::block && !has_packets())
        target_ = Target::none;
    else if (!out_.buffers().try_take_free(buffer))
        return false;
    const Nanoseconds now_ns = clock_.wall_ns();
    give({.stream = stream_,
          .reason = notice.reason,
          .sorted = true,
          .buffer = buffer,
          .burst_id = notice.burst_id,
          .n_fragments = 0,
          .n_hits = 0,
          .n_packets = 0,
          .opened_ns = now_ns,
          .closed_ns = now_ns,
          .given_ns = clock_.monotonic_ns(),
          .burst_origin_ns = origin_of(notice.burst_id)});
    return true;
}

void BlockFiller::close(CloseReason reason) noexcept {
    target_ = Target::none;
    give({.stream = stream_,
          .reason = reason,
          .sorted = writer_.sorted(),
          .buffer = buffer_,
          .burst_id = burst_id_,
          .n_fragments = writer_.n_fragments(),
          .n_hits = writer_.n_hits(),
          .n_packets = writer_.n_packets(),
          .opened_ns = opened_.wall_ns,
          .closed_ns = clock_.wall_ns(),
          .given_ns = clock_.monotonic_ns(),
          .burst_origin_ns = origin_of(burst_id_)});
}

void BlockFiller::give(const Completion& completion) noexcept {
    counters_.add(counter_of(completion.reason));
    [[maybe_unused]] const bool given = out_.completions().try_give(completion);
    ANELLO_ASSERT(given);  // the ring has room for every buffer
}

}  // namespace anello::receive
