// SPDX-License-Identifier: Apache-2.0
#include "rich/source/board_stream.hpp"

#include <array>

#include "rich/wire/tel62.hpp"

namespace anello::rich {
namespace {

namespace mgp = wire::mgp;
namespace mep = wire::mep;
namespace tel62 = wire::tel62;

constexpr std::uint8_t end_of_burst_trigger = 0x23;

constexpr std::uint32_t ticks_of(std::uint64_t time_fine) noexcept {
    return static_cast<std::uint32_t>(time_fine >> 8);
}

}  // namespace

BoardStream::BoardStream(std::uint32_t stream, std::uint16_t board, const Limits& limits, const EventPool& pool,
                         PacketSlots& slots, std::vector<ClosedPacket>& closed) noexcept
    : stream_(stream), board_(board), limits_(limits), pool_(pool), slots_(slots), closed_(closed) {}

void BoardStream::begin_burst(std::uint32_t burst_id) noexcept {
    burst_id_ = burst_id;
    event_number_ = 0;
    ++n_bursts_begun_;
    if (pool_.format() == Format::mgp) queue_mgp_marker(mgp::start_of_burst);
}

void BoardStream::add(std::uint32_t pool_event, std::uint64_t time_fine) noexcept {
    flush_older_than(time_fine);
    if (n_fragments_ == limits_.max_events_per_packet) close();
    pool_.format() == Format::mgp ? add_mgp(pool_event, time_fine) : add_mep(pool_event, time_fine);
}

void BoardStream::open(std::uint64_t time_fine) noexcept {
    is_open_ = true;
    slot_ = slots_.take();
    first_fine_ = time_fine;
    n_bytes_ = mgp::header_bytes;
    if (pool_.format() == Format::mep)
        mep_.emplace(slots_.packet(slot_), mep::rich_source_id, static_cast<std::uint8_t>(board_), event_number_);
}

void BoardStream::add_mgp(std::uint32_t pool_event, std::uint64_t time_fine) noexcept {
    const EventPool::Fragment fragment = pool_.fragment(pool_event, board_);
    if (is_open_ && n_bytes_ + fragment.n_bytes > slots_.packet_bytes()) close();
    if (!is_open_) open(time_fine);
    std::byte* to = slots_.at(slot_) + n_bytes_;
    copy_with_slack(to, fragment.bytes, fragment.n_bytes);
    mgp::restamp(to, ticks_of(time_fine), static_cast<std::uint8_t>(time_fine));
    n_bytes_ += fragment.n_bytes;
    n_hits_ += fragment.n_hits;
    ++n_fragments_;
}

void BoardStream::add_mep(std::uint32_t pool_event, std::uint64_t time_fine) noexcept {
    if (!is_open_) open(time_fine);
    if (!try_write_mep(pool_event, time_fine)) {
        close();
        open(time_fine);
        [[maybe_unused]] const bool written = try_write_mep(pool_event, time_fine);
        ANELLO_ASSERT(written);  // set-up has checked that the largest fragment fits
    }
    ++event_number_;
}

bool BoardStream::try_write_mep(std::uint32_t pool_event, std::uint64_t time_fine) noexcept {
    std::array<tel62::Hit, 255> hits;
    const auto from = pool_.absolute_hits(pool_event, board_);
    for (std::size_t i = 0; i < from.size(); ++i)
        hits[i] = {time_fine + static_cast<std::uint64_t>(std::int64_t{from[i].time_fine}), from[i].readout_channel,
                   tel62::Edge::leading};
    const std::span<std::byte> room = mep_->room();
    const std::size_t n_bytes =
        tel62::encode(room, {.board = static_cast<std::uint8_t>(board_)}, std::span(hits).first(from.size()));
    if (n_bytes == 0 || !mep_->close(n_bytes, ticks_of(time_fine))) return false;
    n_hits_ += static_cast<std::uint32_t>(from.size());
    ++n_fragments_;
    return true;
}

void BoardStream::close() noexcept {
    if (!is_open_) return;
    if (mep_) n_bytes_ = mep_->finish();
    const bool by_events = mep_.has_value();
    mep_.reset();
    closed_.push_back({.packet = {.stream = stream_,
                                  .step = burst_id_,
                                  .epoch = by_events ? n_bursts_begun_ - 1 : 0,
                                  .first_number = by_events ? event_number_ - n_fragments_ : totals_.n_packets,
                                  .n_numbers = by_events ? n_fragments_ : 1,
                                  .n_fragments = n_fragments_,
                                  .n_hits = n_hits_},
                       .slot = slot_,
                       .length_bytes = static_cast<std::uint32_t>(n_bytes_),
                       .sequence = sequence_++,
                       .flags = limits_.flags});
    ++totals_.n_packets;
    totals_.n_events += n_fragments_;
    totals_.n_hits += n_hits_;
    totals_.n_bytes += n_bytes_;
    is_open_ = false;
    n_fragments_ = n_hits_ = 0;
}

void BoardStream::queue_end_of_burst(std::uint64_t time_fine) noexcept {
    pool_.format() == Format::mgp ? queue_mgp_marker(mgp::end_of_burst) : queue_mep_end_of_burst(time_fine);
}

void BoardStream::queue_mgp_marker(std::uint8_t which) noexcept {
    const std::uint32_t slot = slots_.take();
    const auto flags = static_cast<std::uint8_t>((limits_.flags & mgp::with_checksum) | which);
    const mgp::Header header{.flags = flags, .source_id = board_, .sequence = sequence_, .burst_id = burst_id_};
    queue_marker(slot, mgp::write_burst_marker(slots_.packet(slot), header, totals_), flags);
}

/// NA62's end of burst is an event of a special trigger. It is flagged as the last one and has no hits.
void BoardStream::queue_mep_end_of_burst(std::uint64_t time_fine) noexcept {
    const std::uint32_t slot = slots_.take();
    const auto board = static_cast<std::uint8_t>(board_);
    mep::PacketWriter writer(slots_.packet(slot), mep::rich_source_id, board, event_number_);
    const tel62::BoardHeader header{.board = board, .trigger_type = tel62::special_trigger_bit | end_of_burst_trigger};
    const std::size_t n_bytes = tel62::encode(writer.room(), header, {});
    [[maybe_unused]] const bool written = writer.close(n_bytes, ticks_of(time_fine), true);
    ANELLO_ASSERT(n_bytes > 0 && written);
    queue_marker(slot, writer.finish(), 0);
}

void BoardStream::queue_marker(std::uint32_t slot, std::size_t length_bytes, std::uint8_t flags) noexcept {
    closed_.push_back({.packet = {.stream = stream_, .step = burst_id_, .n_numbers = 0, .n_fragments = 0},
                       .slot = slot,
                       .length_bytes = static_cast<std::uint32_t>(length_bytes),
                       .sequence = sequence_,
                       .flags = flags});
}

}  // namespace anello::rich
