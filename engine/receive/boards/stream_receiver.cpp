// SPDX-License-Identifier: Apache-2.0
#include "receive/boards/stream_receiver.hpp"

#include <algorithm>
#include <utility>

namespace anello::receive {

StreamReceiver::StreamReceiver(const StreamConfig& config, std::uint16_t stream, std::unique_ptr<Unpacker> unpacker,
                               BlockStream& out, StreamCounters counters, const Clock& clock)
    : unpacker_(std::move(unpacker)),
      counters_(counters),
      clock_(clock),
      now_ns_(clock.monotonic_ns()),
      blocks_(config, stream, out, counters.stream, clock) {
    source_.expect(config.source);
}

void StreamReceiver::on_datagram(const Datagram& datagram) noexcept {
    counters_.stream.add(ReceiveCounter::datagrams);
    counters_.stream.add(ReceiveCounter::bytes, datagram.bytes.size());
    PacketInfo packet;
    if (!source_.may_speak(datagram.source, blocks_.read_until_ns())) [[unlikely]]
        return counters_.stream.add(ReceiveCounter::strangers);
    const wire::Verdict verdict = unpack(datagram, packet);
    const BoardSource::Heard heard =
        source_.hear(datagram.source, now_ns_, blocks_.read_until_ns(), verdict == wire::Verdict::ok);
    if (heard == BoardSource::Heard::stranger) [[unlikely]]
        return counters_.stream.add(ReceiveCounter::strangers);
    if (heard != BoardSource::Heard::own) [[unlikely]]
        follow_source(heard);
    counters_.verdicts.add(verdict);
    if (verdict != wire::Verdict::ok) return;
    if (packet.kind == PacketKind::data)
        on_data(datagram, packet);
    else
        on_marker(packet);
    sent_.add(packet.sent_ns);
    show_sequence();
    show_announcements();
}

/// Another address is the board's now.
void StreamReceiver::follow_source(BoardSource::Heard heard) noexcept {
    if (heard != BoardSource::Heard::first) counters_.stream.add(ReceiveCounter::source_changes);
    counters_.stream.add(ReceiveCounter::mistaken_strangers, source_.take_mistaken());
    heard == BoardSource::Heard::taken_over ? revoke_source() : remember_account();
}

void StreamReceiver::remember_account() noexcept {
    before_source_ = {.sequence = numbers_.tracker(),
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
    numbers_.go_back_to(before.sequence);
    announcements_ = before.announcements;
    sent_ = {};
    bursts_.forget();
    blocks_.disown();
    remember_account();
}

/// Unpacks into the open block, into the next block if the packet does not fit, or into the scratch block if there is
/// no buffer.
wire::Verdict StreamReceiver::unpack(const Datagram& datagram, PacketInfo& packet) noexcept {
    if (datagram.cut) return wire::Verdict::wrong_length;
    blocks_.open();
    wire::Verdict verdict = unpacker_->unpack(datagram.bytes, blocks_.writer(), packet);
    if (blocks_.writer().overflowed() && blocks_.try_close_full()) {
        blocks_.open();
        verdict = unpacker_->unpack(datagram.bytes, blocks_.writer(), packet);
    }
    return blocks_.writer().overflowed() ? wire::Verdict::too_many_hits : verdict;
}

void StreamReceiver::on_data(const Datagram& datagram, PacketInfo& packet) noexcept {
    if (!is_to_be_used(datagram, packet)) return;
    enter_burst(packet.burst_id);
    bursts_.note_data(packet.burst_id);
    place(datagram, packet);
    if (!packet.ends_burst) return;
    announcements_.announce({.n_fragments = std::uint64_t{packet.sequence} + packet.sequence_step}, packet.burst_id);
    end_burst(packet.burst_id);
    counted_.awaits_next = true;
}

bool StreamReceiver::is_to_be_used(const Datagram& datagram, PacketInfo& packet) noexcept {
    const std::uint32_t content = packet.has_sequence ? PacketContents::of(datagram.bytes) : 0;
    if (!packet.has_burst_id) follow_burst_without_id(packet, content);
    if (!packet.has_sequence) return true;
    switch (numbers_.take(packet.sequence, packet.sequence_step, content)) {
        case Arrival::in_order:
            return true;
        case Arrival::late:
            counters_.stream.add(ReceiveCounter::out_of_order);
            return true;
        case Arrival::restarted:
            counters_.stream.add(ReceiveCounter::source_restarts);
            begin_epoch();
            if (!packet.has_burst_id) packet.burst_id = ++counted_.id;
            return true;
        case Arrival::conflicting:
            counters_.stream.add(ReceiveCounter::conflicting_packets);
            return false;
        case Arrival::duplicate:
            counters_.stream.add(ReceiveCounter::duplicate_packets);
            counters_.stream.add(ReceiveCounter::duplicate_fragments, blocks_.writer().n_open_fragments());
            return false;
        case Arrival::stray:
            counters_.stream.add(ReceiveCounter::stray_packets);
            return false;
    }
    return false;
}

/// For formats without burst numbers, whose event numbers begin at 0 in each burst. After the last event of a burst,
/// the next burst begins with a packet of number 0, one with a known number but other content, or one with a number far
/// from the known ones. Other packets are late ones of the old burst.
void StreamReceiver::follow_burst_without_id(PacketInfo& packet, std::uint32_t content) noexcept {
    if (counted_.awaits_next && numbers_.begins_series(packet.sequence, content)) {
        numbers_.restart();
        begin_epoch();
        counted_.awaits_next = false;
        ++counted_.id;
    }
    packet.burst_id = counted_.id;
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
    sent_.begin_epoch();
}

void StreamReceiver::on_marker(const PacketInfo& packet) noexcept {
    counters_.stream.add(ReceiveCounter::markers);
    if (says_restart(packet)) {
        counters_.stream.add(ReceiveCounter::source_restarts);
        numbers_.restart();
        begin_epoch();
    }
    const bool begins = packet.kind == PacketKind::start_of_burst;
    const bool known = begins ? !bursts_.is_new(packet.burst_id) : bursts_.has_ended(packet.burst_id);
    if (known) counters_.stream.add(ReceiveCounter::repeated_markers);
    if (begins) blocks_.set_origin(packet.burst_id, is_credible(packet.sent_ns, clock_.wall_ns()) ? packet.sent_ns : 0);
    numbers_.announce_next(packet.sequence);
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
    if (!from_zero || numbers_.tracker().is_at_begin()) return false;
    if (packet.sent_ns == 0) return packet.kind == PacketKind::start_of_burst && bursts_.is_new(packet.burst_id);
    return !sent_.contain(packet.sent_ns);
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
    blocks_.enter_burst(burst_id);
}

void StreamReceiver::end_burst(std::uint32_t burst_id) noexcept {
    if (!bursts_.note_end(burst_id)) return;
    counters_.stream.add(ReceiveCounter::bursts_ended);
    blocks_.end_burst(burst_id);
}

void StreamReceiver::place(const Datagram& datagram, const PacketInfo& packet) noexcept {
    if (blocks_.makes_room()) {
        PacketInfo known;
        unpacker_->unpack(datagram.bytes, blocks_.writer(), known);
    }
    if (!blocks_.has_room()) return count_dropped(packet);
    count_placed(packet);
    blocks_.commit(packet, datagram.kernel_ns);
}

void StreamReceiver::count_placed(const PacketInfo& packet) noexcept {
    counters_.stream.add(ReceiveCounter::packets);
    counters_.stream.add(ReceiveCounter::fragments, blocks_.writer().n_open_fragments());
    counters_.stream.add(ReceiveCounter::hits, blocks_.writer().n_open_hits());
    announcements_.add(packet.burst_id, blocks_.writer().n_open_fragments(), blocks_.writer().n_open_hits());
}

void StreamReceiver::count_dropped(const PacketInfo& packet) noexcept {
    counters_.stream.add(ReceiveCounter::dropped_packets);
    counters_.stream.add(ReceiveCounter::dropped_fragments, blocks_.writer().n_open_fragments());
    counters_.stream.add(ReceiveCounter::dropped_hits, blocks_.writer().n_open_hits());
    announcements_.add(packet.burst_id, blocks_.writer().n_open_fragments(), blocks_.writer().n_open_hits());
}

void StreamReceiver::show_sequence() noexcept {
    counters_.stream.set(ReceiveCounter::distinct_sequences, numbers_.tracker().n_distinct());
    counters_.stream.set(ReceiveCounter::lost_sequences, numbers_.tracker().n_lost());
    counters_.stream.set(ReceiveCounter::before_joining, numbers_.tracker().n_before_joining());
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

bool StreamReceiver::finish() noexcept {
    if (!std::exchange(finished_, true)) blocks_.finish(bursts_);
    return blocks_.give_waiting_ends();
}

}  // namespace anello::receive
