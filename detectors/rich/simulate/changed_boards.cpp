// SPDX-License-Identifier: Apache-2.0
#include "rich/simulate/changed_boards.hpp"

#include "core/clock.hpp"

namespace anello::rich {
namespace {

namespace mgp = wire::mgp;

constexpr std::uint32_t first_ticks_anew = 8'000;  // the packets of boards that begin anew together differ by less

template <typename Use>
void for_each_event(const mgp::PacketView& packet, Use use) {
    mgp::EventReader reader(packet);
    for (mgp::EventView event{}; reader.next(event);) use(event);
}

std::byte* begin_of(const mgp::EventView& event, std::span<std::byte> datagram, const mgp::PacketView& packet) {
    const auto at = event.hits.data() - mgp::event_header_bytes - packet.payload.data();
    return datagram.data() + mgp::header_bytes + at;
}

}  // namespace

simulate::ChangedBoards::Fate ChangedRichBoards::change(std::uint32_t number, std::span<std::byte> datagram,
                                                        Nanoseconds since_ns, Change& change,
                                                        std::vector<std::byte>& announcement) {
    if (is_off(number, since_ns)) return Fate::dropped;
    mgp::PacketView packet;
    if (mgp::parse(datagram, packet) != wire::Verdict::ok) return Fate::sent;
    Board& board = boards_[number];
    mgp::Header header = packet.header;
    mgp::Totals totals = header.is_burst_marker() ? mgp::parse_totals(packet) : mgp::Totals{};
    const bool begins = !board.is_anew && is_back(number, since_ns);
    if (begins) begin_anew(board, packet);
    if (board.is_anew) {
        if (header.sequence < board.first_sequence) return Fate::dropped;  // held back from before the begin
        if (changes_.restarts_clock && !has_shift_ && !header.is_burst_marker()) shift_time(packet);
        const bool is_shifted = has_shift_ && header.burst_id == shifted_burst_;
        change = {.is_anew = true, .step_shift = burst_shift_, .time_shift = is_shifted ? time_shift_ticks_ : 0U};
        header.sequence -= board.first_sequence;
        header.burst_id -= burst_shift_;
        if (changes_.restarts_clock)
            header.send_time_ns = static_cast<std::uint64_t>(since_ns - changes_.reboot_at_ns + 1'000'000'000);
        board.totals.n_packets = header.sequence;
        totals = board.totals;
    } else {
        header.sequence += changes_.first_number();
    }
    if (begins && changes_.announces && !header.is_burst_marker()) announce(header, announcement);
    if (header.is_burst_marker()) {
        mgp::write_burst_marker(datagram, header, totals);
        return Fate::sent;
    }
    for_each_event(packet, [&](const mgp::EventView& event) {
        sent_keys_.insert(std::uint64_t{packet.header.burst_id} << 32 | event.timestamp_ticks);
    });
    if (change.time_shift != 0)
        for_each_event(packet, [&](const mgp::EventView& event) {
            mgp::restamp(begin_of(event, datagram, packet), event.timestamp_ticks - time_shift_ticks_, event.fine_time);
        });
    change.is_clock_wrong = changes_.has_wrong_clock(number) && changes_.is_clock_wrong_at(since_ns);
    if (change.is_clock_wrong) set_clock_wrong(board, packet, datagram);
    if (board.is_anew) {
        board.totals.n_events += header.n_events;
        board.totals.n_bytes += datagram.size();
        for_each_event(packet, [&](const mgp::EventView& event) { board.totals.n_hits += event.n_hits; });
    }
    mgp::seal(datagram, header, packet.payload.size());
    return Fate::sent;
}

void ChangedRichBoards::begin_anew(Board& board, const mgp::PacketView& packet) {
    if (changes_.restarts_steps && burst_shift_ == 0) burst_shift_ = packet.header.burst_id;
    board.is_anew = true;
    board.first_sequence = packet.header.sequence;
}

/// From the first event that a board sends after the begin.
void ChangedRichBoards::shift_time(const mgp::PacketView& packet) {
    has_shift_ = true;
    shifted_burst_ = packet.header.burst_id;
    mgp::EventReader reader(packet);
    mgp::EventView first{};
    if (reader.next(first) && first.timestamp_ticks > first_ticks_anew)
        time_shift_ticks_ = first.timestamp_ticks - first_ticks_anew;
}

void ChangedRichBoards::set_clock_wrong(Board& board, const mgp::PacketView& packet, std::span<std::byte> datagram) {
    const auto step = static_cast<std::int64_t>(static_cast<double>(changes_.clock_step_ns) / tick_ns);
    for_each_event(packet, [&](const mgp::EventView& event) {
        if (!board.stands) board.stands_at = {event.timestamp_ticks, event.fine_time};
        board.stands = true;
        const Time wrong{event.timestamp_ticks + static_cast<std::uint32_t>(step), event.fine_time};
        const Time& time = changes_.clock_step_ns == 0 ? board.stands_at : wrong;
        mgp::restamp(begin_of(event, datagram, packet), time.ticks, time.fine);
    });
}

void ChangedRichBoards::announce(const mgp::Header& header, std::vector<std::byte>& announcement) const {
    mgp::Header marker = header;
    marker.flags = static_cast<std::uint8_t>((header.flags & mgp::with_checksum) | mgp::start_of_burst);
    marker.n_events = 0;
    announcement.resize(mgp::header_bytes + mgp::totals_bytes);
    mgp::write_burst_marker(announcement, marker, {});
}

void ExpectedPackets::take_marker(std::uint32_t next_sequence, bool counts_anew) {
    if (counts_anew && has_counted_) begin_anew();
    has_counted_ |= next_sequence > 0;
}

bool ExpectedPackets::take(std::uint32_t sequence, std::uint32_t content) {
    const bool is_next = conflict_next_ == sequence;
    conflict_next_ = none;
    const auto known = contents_.find(sequence);
    const bool conflicts = known != contents_.end() && known->second != content;
    if (known != contents_.end() && !conflicts) {
        ++n_duplicates;
        return false;
    }
    if (conflicts && !is_next) {
        ++n_conflicting;
        conflict_next_ = std::uint32_t{sequence + 1};
        return false;
    }
    if (conflicts) begin_anew();
    contents_[sequence] = content;
    has_counted_ = true;
    ++n_used;
    return true;
}

void ExpectedPackets::begin_anew() {
    ++n_restarts;
    contents_.clear();
    has_counted_ = false;
}

}  // namespace anello::rich
