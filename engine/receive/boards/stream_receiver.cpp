// SPDX-License-Identifier: Apache-2.0
#include "receive/boards/stream_receiver.hpp"

#include <algorithm>
#include <utility>

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

StreamReceiver::StreamReceiver(const StreamConfig& config, std::uint16_t stream, std::unique_ptr<Unpacker> unpacker,
                               BlockStream& out, StreamCounters counters, const Clock& clock)
    : config_(config),
      stream_(stream),
      unpacker_(std::move(unpacker)),
      out_(out),
      counters_(counters),
      clock_(clock),
      read_until_ns_(clock.monotonic_ns()),
      last_on_time_ns_(read_until_ns_),
      scratch_(block_bytes(out.shape())) {
    validate(config, out.shape());
    watch_.expect(config.source);
    sequence_.write_to(sequence_log_);
}

void StreamReceiver::on_datagram(const Datagram& datagram) noexcept {
    counters_.stream.add(ReceiveCounter::datagrams);
    counters_.stream.add(ReceiveCounter::bytes, datagram.bytes.size());
    PacketInfo packet;
    const bool is_own = binding_.is_bound_to(datagram.source);
    if (!is_own && !watch_.may_speak(binding_, datagram.source, read_ns_ - last_accepted_ns_)) [[unlikely]]
        return counters_.stream.add(ReceiveCounter::strangers);
    const wire::Verdict verdict = unpack(datagram, packet);
    if (!is_own && reject_stranger(datagram.source, verdict == wire::Verdict::ok)) [[unlikely]]
        return counters_.stream.add(ReceiveCounter::strangers);
    binding_.note_accepted();
    last_accepted_ns_ = read_ns_ + (last_on_time_ns_ - read_until_ns_);
    counters_.verdicts.add(verdict);
    if (verdict != wire::Verdict::ok) return;
    if (packet.kind == PacketKind::data)
        on_data(datagram, packet);
    else
        on_marker(packet);
    if (packet.sent_ns != 0) sent_.add(packet.sent_ns);
    show_sequence();
    show_announcements();
}

bool StreamReceiver::reject_stranger(SourceAddress source, bool is_right) noexcept {
    const SourceAddress before = binding_.source();
    const auto judgement = watch_.judge(binding_, source, is_right, read_ns_ - last_accepted_ns_);
    if (judgement == SourceWatch::Judgement::stranger) return true;
    if (binding_.source() == before) return false;  // malformed, and no source is bound yet
    if (!(before == SourceAddress{})) counters_.stream.add(ReceiveCounter::source_changes);
    counters_.stream.add(ReceiveCounter::mistaken_strangers, watch_.take_mistaken());
    judgement == SourceWatch::Judgement::taken_over ? revoke_source() : remember_account();
    return false;
}

void StreamReceiver::remember_account() noexcept {
    before_source_ = {.sequence = sequence_,
                      .announcements = announcements_,
                      .n_packets = counters_.stream[ReceiveCounter::packets],
                      .n_fragments = counters_.stream[ReceiveCounter::fragments],
                      .n_hits = counters_.stream[ReceiveCounter::hits]};
}

/// The bound source was not the board, so its sequence numbers and totals are taken back. The builder drops its unused
/// data, and forgets bursts that the source had begun and ended.
void StreamReceiver::revoke_source() noexcept {
    using enum ReceiveCounter;
    const Account& before = before_source_;
    counters_.stream.add(disowned_packets, counters_.stream[packets] - before.n_packets);
    counters_.stream.add(disowned_fragments, counters_.stream[fragments] - before.n_fragments);
    counters_.stream.add(disowned_hits, counters_.stream[hits] - before.n_hits);
    sequence_ = before.sequence;
    sequence_log_.missing.spoil();
    announcements_ = before.announcements;
    sent_ = sent_before_restart_ = {};
    bursts_.forget();
    if (has_packets()) close_block(CloseReason::gathering_time, block_burst_id_);
    notify_end({block_burst_id_, CloseReason::disowned});
    remember_account();
}

/// Unpacks into the open block, into the next block if the packet does not fit, or into the scratch block if there is
/// no buffer.
wire::Verdict StreamReceiver::unpack(const Datagram& datagram, PacketInfo& packet) noexcept {
    if (datagram.cut) return wire::Verdict::wrong_length;
    aim();
    wire::Verdict verdict = unpacker_->unpack(datagram.bytes, writer_, packet);
    if (writer_.overflowed() && has_packets()) {
        close_block(CloseReason::size, block_burst_id_);
        aim();
        verdict = unpacker_->unpack(datagram.bytes, writer_, packet);
    }
    return writer_.overflowed() ? wire::Verdict::too_many_hits : verdict;
}

void StreamReceiver::on_data(const Datagram& datagram, PacketInfo& packet) noexcept {
    if (!is_to_be_used(datagram, packet)) return;
    enter_burst(packet.burst_id);
    bursts_.note_data(packet.burst_id);
    place(datagram, packet);
    if (!packet.ends_burst) return;
    announcements_.announce({.n_fragments = std::uint64_t{packet.sequence} + packet.sequence_step}, packet.burst_id);
    end_burst(packet.burst_id);
    awaits_next_burst_ = true;
}

bool StreamReceiver::is_to_be_used(const Datagram& datagram, PacketInfo& packet) noexcept {
    const std::uint32_t content = packet.has_sequence ? PacketContents::of(datagram.bytes) : 0;
    if (!packet.has_burst_id) follow_burst_without_id(packet, content);
    if (!packet.has_sequence) return true;
    const Arrival arrival = arrival_of(packet, content);
    if (arrival != Arrival::duplicate && arrival != Arrival::stray) contents_.note(packet.sequence, content);
    switch (arrival) {
        case Arrival::in_order:
            return true;
        case Arrival::late:
            counters_.stream.add(ReceiveCounter::out_of_order);
            return true;
        case Arrival::restarted:
            counters_.stream.add(ReceiveCounter::source_restarts);
            begin_epoch();
            if (!packet.has_burst_id) packet.burst_id = ++counted_burst_id_;
            return true;
        case Arrival::duplicate:
            if (conflict_next_) {
                counters_.stream.add(ReceiveCounter::conflicting_packets);
            } else {
                counters_.stream.add(ReceiveCounter::duplicate_packets);
                counters_.stream.add(ReceiveCounter::duplicate_fragments, writer_.n_open_fragments());
            }
            return false;
        case Arrival::stray:
            counters_.stream.add(ReceiveCounter::stray_packets);
            return false;
    }
    return false;
}

/// A repeated number with other content belongs to another packet. Two such packets in direct succession show a source
/// that counts from zero again, whose start of burst was lost, or has a time that does not show the restart.
Arrival StreamReceiver::arrival_of(const PacketInfo& packet, std::uint32_t content) noexcept {
    const Arrival arrival = sequence_.accept(packet.sequence, packet.sequence_step);
    const bool is_next = conflict_next_ == packet.sequence;
    conflict_next_.reset();
    if (arrival != Arrival::duplicate || contents_.are_same(packet.sequence, content)) return arrival;
    if (!is_next) {
        conflict_next_ = packet.sequence + packet.sequence_step;
        return arrival;
    }
    sequence_.restart();
    sequence_.accept(packet.sequence, packet.sequence_step);
    return Arrival::restarted;
}

/// For formats without burst numbers, whose event numbers begin at 0 in each burst. After the last event of a burst,
/// the next burst begins with a packet of number 0, one with a known number but other content, or one with a number far
/// from the known ones. Other packets are late ones of the old burst.
void StreamReceiver::follow_burst_without_id(PacketInfo& packet, std::uint32_t content) noexcept {
    if (awaits_next_burst_) {
        const Arrival arrival = sequence_.preview(packet.sequence);
        const bool is_another = arrival == Arrival::duplicate && !contents_.are_same(packet.sequence, content);
        if (arrival == Arrival::stray || is_another || (packet.sequence == 0 && arrival != Arrival::late)) {
            sequence_.restart();
            begin_epoch();
            awaits_next_burst_ = false;
            ++counted_burst_id_;
        }
    }
    packet.burst_id = counted_burst_id_;
}

/// The source's totals count from zero again, and its burst numbers may repeat. A burst that has begun and has no data
/// is the source's new one: its start came before the packet that shows the restart.
void StreamReceiver::begin_epoch() noexcept {
    const bool is_in_new_burst = bursts_.has_burst() && !bursts_.has_data();
    const std::uint32_t burst_id = bursts_.burst_id();
    if (bursts_.has_burst() && !is_in_new_burst) end_burst(burst_id);
    bursts_.forget();
    if (is_in_new_burst) bursts_.enter(burst_id);
    announcements_.begin_epoch();
    sent_before_restart_ = std::exchange(sent_, {});
}

void StreamReceiver::on_marker(const PacketInfo& packet) noexcept {
    counters_.stream.add(ReceiveCounter::markers);
    if (says_restart(packet)) {
        counters_.stream.add(ReceiveCounter::source_restarts);
        sequence_.restart();
        begin_epoch();
    }
    const bool begins = packet.kind == PacketKind::start_of_burst;
    const bool known = begins ? !bursts_.is_new(packet.burst_id) : bursts_.has_ended(packet.burst_id);
    if (known) counters_.stream.add(ReceiveCounter::repeated_markers);
    if (begins) origin_ = {packet.burst_id, is_credible(packet.sent_ns, clock_.wall_ns()) ? packet.sent_ns : 0};
    sequence_.announce_next(packet.sequence);
    note_announced(packet);
    if (bursts_.is_new(packet.burst_id)) enter_burst(packet.burst_id);
    if (!begins) end_burst(packet.burst_id);
}

/// True for a marker that counts from zero although the stream had data. A delayed repetition looks the same, but its
/// send time is within that of known packets, before or after the source's last restart; a clock that the restart set
/// back gives an earlier time. An end of burst counts, too: a source may restart in a burst and send no data of it, and
/// with the end's time the times of known packets would reach back to it. If packets have no time, only a start of
/// burst with a new number counts as a restart.
bool StreamReceiver::says_restart(const PacketInfo& packet) const noexcept {
    const bool from_zero = packet.sequence == 0 && packet.totals.n_packets == 0;
    if (!from_zero || sequence_.next() == 0) return false;
    if (packet.sent_ns == 0) return packet.kind == PacketKind::start_of_burst && bursts_.is_new(packet.burst_id);
    return !sent_.contain(packet.sent_ns) && !sent_before_restart_.contain(packet.sent_ns);
}

/// Totals only grow within a run, so a marker that was overtaken adds nothing.
void StreamReceiver::note_announced(const PacketInfo& packet) noexcept {
    if (packet.totals.n_packets <= announcements_.of_epoch().n_packets) return;
    const bool begins = packet.kind == PacketKind::start_of_burst;
    announcements_.announce(packet.totals, begins ? packet.burst_id - 1 : packet.burst_id);
}

void StreamReceiver::enter_burst(std::uint32_t burst_id) noexcept {
    if (bursts_.is_new(burst_id)) {
        if (bursts_.has_burst()) end_burst(bursts_.burst_id());
        bursts_.enter(burst_id);
    }
    if (has_packets() && block_burst_id_ != burst_id) close_block(CloseReason::gathering_time, block_burst_id_);
}

void StreamReceiver::place(const Datagram& datagram, const PacketInfo& packet) noexcept {
    const bool was_closed = target_ == Target::none;
    if (was_closed) aim();
    const bool reclaimed = target_ == Target::scratch && reclaim_oldest();
    if (was_closed || reclaimed) {  // it was in another block, so it fits into an empty one
        PacketInfo known;
        unpacker_->unpack(datagram.bytes, writer_, known);
    }
    if (target_ == Target::scratch) return count_dropped(packet);
    if (writer_.n_packets() == 0) {
        block_burst_id_ = packet.burst_id;
        opened_wall_ns_ = clock_.wall_ns();
        opened_monotonic_ns_ = clock_.monotonic_ns();
        opened_read_until_ns_ = read_until_ns_;
    }
    count_placed(packet);
    writer_.commit(packet.sequence, packet.sent_ns, datagram.kernel_ns);
    if (writer_.is_full()) close_block(CloseReason::size, block_burst_id_);
}

void StreamReceiver::count_placed(const PacketInfo& packet) noexcept {
    counters_.stream.add(ReceiveCounter::packets);
    counters_.stream.add(ReceiveCounter::fragments, writer_.n_open_fragments());
    counters_.stream.add(ReceiveCounter::hits, writer_.n_open_hits());
    announcements_.add(packet.burst_id, writer_.n_open_fragments(), writer_.n_open_hits());
}

void StreamReceiver::count_dropped(const PacketInfo& packet) noexcept {
    counters_.stream.add(ReceiveCounter::dropped_packets);
    counters_.stream.add(ReceiveCounter::dropped_fragments, writer_.n_open_fragments());
    counters_.stream.add(ReceiveCounter::dropped_hits, writer_.n_open_hits());
    announcements_.add(packet.burst_id, writer_.n_open_fragments(), writer_.n_open_hits());
}

void StreamReceiver::show_sequence() noexcept {
    counters_.stream.set(ReceiveCounter::distinct_sequences, sequence_.n_distinct());
    counters_.stream.set(ReceiveCounter::lost_sequences, sequence_.n_lost());
    counters_.stream.set(ReceiveCounter::before_joining, sequence_.n_before_joining());
}

void StreamReceiver::show_announcements() noexcept {
    const AnnouncedTotals announced = announcements_.announced(), unannounced = announcements_.unannounced();
    counters_.stream.set(ReceiveCounter::announced_packets, announced.n_packets);
    counters_.stream.set(ReceiveCounter::announced_fragments, announced.n_fragments);
    counters_.stream.set(ReceiveCounter::announced_hits, announced.n_hits);
    counters_.stream.set(ReceiveCounter::unannounced_fragments, unannounced.n_fragments);
    counters_.stream.set(ReceiveCounter::unannounced_hits, unannounced.n_hits);
}

void StreamReceiver::set_kernel_dropped(std::uint64_t n_datagrams) noexcept {
    counters_.stream.set(ReceiveCounter::kernel_dropped, n_datagrams);
}

void StreamReceiver::set_super_packets(std::uint64_t n_messages) noexcept {
    counters_.stream.set(ReceiveCounter::super_packets, n_messages);
}

void StreamReceiver::on_time(Nanoseconds monotonic_ns) noexcept {
    last_on_time_ns_ = monotonic_ns;
    if (has_packets() && monotonic_ns - opened_monotonic_ns_ >= config_.gathering_time_ns)
        close_block(CloseReason::gathering_time, block_burst_id_);
    if (!waiting_ends_.empty()) give_waiting_ends();
}

bool StreamReceiver::finish() noexcept {
    if (!std::exchange(finished_, true)) {
        if (has_packets())
            close_block(CloseReason::stop, block_burst_id_);
        else if (bursts_.has_burst() && !bursts_.has_ended(bursts_.burst_id()))
            notify_end({bursts_.burst_id(), CloseReason::stop});
    }
    give_waiting_ends();
    return waiting_ends_.empty();
}

/// Makes sure that there is a block to unpack into. Waiting ends of bursts go before any new block.
void StreamReceiver::aim() noexcept {
    if (target_ == Target::block) return;
    if (!waiting_ends_.empty()) give_waiting_ends();
    std::uint32_t buffer = 0;
    if (waiting_ends_.empty() && out_.buffers().try_take_free(buffer)) return open_block(buffer);
    if (target_ == Target::scratch) return;
    target_ = Target::scratch;
    writer_.open(columns_of(scratch_, out_.shape()), out_.shape());
}

void StreamReceiver::open_block(std::uint32_t buffer) noexcept {
    target_ = Target::block;
    buffer_ = buffer;
    writer_.open(out_.columns(buffer), out_.shape());
}

/// Policy overwrite_oldest: takes back the oldest block that the builder has not taken. If that block carried an end of
/// burst, the end is sent again later, perhaps after blocks of the next burst. A disowned notice is not sent again:
/// after the board's own blocks it would apply to those.
bool StreamReceiver::reclaim_oldest() noexcept {
    Completion oldest;
    if (config_.full_policy != FullPolicy::overwrite_oldest || !out_.completions().try_withdraw_oldest(oldest))
        return false;
    counters_.stream.add(ReceiveCounter::overwritten_packets, oldest.n_packets);
    counters_.stream.add(ReceiveCounter::overwritten_fragments, oldest.n_fragments);
    counters_.stream.add(ReceiveCounter::overwritten_hits, oldest.n_hits);
    open_block(oldest.buffer);
    const EndNotice notice{oldest.burst_id, oldest.reason};
    const bool carries_end = oldest.reason >= CloseReason::end_of_burst;
    if (oldest.reason == CloseReason::disowned || (carries_end && !waiting_ends_.try_add(notice)))
        counters_.stream.add(ReceiveCounter::lost_end_notices);
    return true;
}

void StreamReceiver::end_burst(std::uint32_t burst_id) noexcept {
    if (!bursts_.note_end(burst_id)) return;
    counters_.stream.add(ReceiveCounter::bursts_ended);
    if (has_packets() && block_burst_id_ == burst_id) return close_block(CloseReason::end_of_burst, burst_id);
    if (has_packets()) close_block(CloseReason::gathering_time, block_burst_id_);
    notify_end({burst_id, CloseReason::end_of_burst});
}

void StreamReceiver::notify_end(EndNotice notice) noexcept {
    if (!waiting_ends_.try_add(notice)) counters_.stream.add(ReceiveCounter::lost_end_notices);
    give_waiting_ends();
}

void StreamReceiver::give_waiting_ends() noexcept {
    while (!waiting_ends_.empty() && try_give_end(waiting_ends_.oldest())) waiting_ends_.remove_oldest();
}

/// An end of burst is carried by the open block's buffer if that is empty, otherwise by a free buffer.
bool StreamReceiver::try_give_end(const EndNotice& notice) noexcept {
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

void StreamReceiver::close_block(CloseReason reason, std::uint32_t burst_id) noexcept {
    target_ = Target::none;
    give({.stream = stream_,
          .reason = reason,
          .sorted = writer_.sorted(),
          .buffer = buffer_,
          .burst_id = burst_id,
          .n_fragments = writer_.n_fragments(),
          .n_hits = writer_.n_hits(),
          .n_packets = writer_.n_packets(),
          .opened_ns = opened_wall_ns_,
          .closed_ns = clock_.wall_ns(),
          .given_ns = clock_.monotonic_ns(),
          .burst_origin_ns = origin_of(burst_id)});
}

void StreamReceiver::give(const Completion& completion) noexcept {
    counters_.stream.add(counter_of(completion.reason));
    [[maybe_unused]] const bool given = out_.completions().try_give(completion);
    ANELLO_ASSERT(given);  // the ring has room for every buffer
}

}  // namespace anello::receive
