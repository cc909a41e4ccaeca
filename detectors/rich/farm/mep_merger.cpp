// SPDX-License-Identifier: Apache-2.0
#include "rich/farm/mep_merger.hpp"

#include <algorithm>
#include <bit>

#include "core/assert.hpp"

namespace anello::rich {
namespace {

static_assert(std::endian::native == std::endian::little, "hits are used where they lie in the packet");

constexpr std::uint32_t bit(std::uint32_t board) noexcept {
    return std::uint32_t{1} << board;
}

const MepMergerConfig& validated(const MepMergerConfig& config) {
    config.frames.validate();
    config.build.validate();
    return config;
}

}  // namespace

MepMerger::MepMerger(const MepMergerConfig& config, memory::PersistentBuffers& batches, events::BatchSink& sink,
                     const Clock& clock, CounterPage& page)
    : config_(validated(config)),
      clock_(clock),
      counters_(page.add_block<events::BuildCounter>("merge")),
      mep_counters_(page.add_block<MepMergeCounter>("merge.mep")),
      writer_(batches, sink, config.build.batch, clock, counters_),
      boards_(config.build.n_boards),
      all_boards_(static_cast<std::uint32_t>((std::uint64_t{1} << config.build.n_boards) - 1)) {
    origins_.reserve(boards_.size());
    for (std::uint32_t board = 0; board < boards_.size(); ++board) {
        boards_[board].records.reserve(config.max_mfp_bytes / wire::rich_frame::record_header_bytes);
        board_counters_.push_back(page.add_block<events::BoardCounter>("merge.board" + std::to_string(board)));
    }
}

void MepMerger::begin(const exchange::MepView& mep) noexcept {
    ANELLO_ASSERT(!is_busy_);
    is_busy_ = true;
    is_merged_ = false;
    burst_id_ = config_.frames.burst_id(mep.mep);
    begin_ticks_ = config_.frames.begin_ticks(mep.mep);
    end_ticks_ = begin_ticks_ + config_.frames.mep_ticks();
    is_sure_ = begin_ticks_ == 0;
    last_ticks_ = begin_ticks_ - std::min<std::uint64_t>(begin_ticks_, config_.frames.overlap_ticks() + 1);
    for (Board& board : boards_) {
        board.records.clear();
        board.next = 0;
        board.used = events::no_fragment;
    }
    mep_counters_.add(MepMergeCounter::meps);
    origins_.clear();
    for (const std::span<const std::byte> mfp : mep.mfps)
        if (!mfp.empty()) read(mfp);
    writer_.set_burst_origin(middle_of(origins_));
}

/// Reads the fragments of an MFP. Header and tables were already checked at its arrival.
void MepMerger::read(std::span<const std::byte> mfp) noexcept {
    wire::mfp::PacketView view;
    if (wire::mfp::parse(mfp, view) != wire::Verdict::ok) return mep_counters_.add(MepMergeCounter::frames_malformed);
    wire::mfp::FragmentReader reader(view);
    for (std::span<const std::byte> frame; reader.next(frame);) {
        if (reader.verify() == wire::Verdict::ok)
            read_frame(frame, std::max(view.header.ready_ns, Nanoseconds{0}));  // so that durations do not overflow
        else
            mep_counters_.add(MepMergeCounter::frames_wrong_checksum);
    }
}

void MepMerger::read_frame(std::span<const std::byte> frame, Nanoseconds ready_ns) noexcept {
    wire::rich_frame::Reader reader(frame, ready_ns);
    for (wire::rich_frame::Record record; reader.next(record);) place(record, ready_ns);
    if (reader.n_bytes_left() > 0) mep_counters_.add(MepMergeCounter::frames_malformed);
}

void MepMerger::note_origin(Nanoseconds wall_ns) noexcept {
    if (wall_ns <= 0 || !is_credible(wall_ns, clock_.wall_ns()) || origins_.size() == origins_.capacity())
        return mep_counters_.add(MepMergeCounter::fragments_wrong);
    origins_.push_back(wall_ns);
}

void MepMerger::place(const wire::rich_frame::Record& record, Nanoseconds ready_ns) noexcept {
    if (wire::rich_frame::is_origin(record)) return note_origin(wire::rich_frame::origin_of(record));
    const events::FineTime time = events::fine_time_of(record.timestamp_ticks, record.fine_time);
    const std::uint64_t ticks = record.timestamp_ticks;
    const bool is_near =
        ticks + config_.frames.overlap_ticks() >= begin_ticks_ && ticks <= end_ticks_ + config_.frames.window_ticks;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(record.hit_id) % 2 == 0;
    if (record.board >= boards_.size() || !is_near || !is_aligned)
        return mep_counters_.add(MepMergeCounter::fragments_wrong);
    std::vector<Record>& records = boards_[record.board].records;
    if (!records.empty() && time < records.back().time) return mep_counters_.add(MepMergeCounter::fragments_wrong);
    if (records.size() == records.capacity()) return mep_counters_.add(MepMergeCounter::fragments_no_room);
    const bool is_own = ticks >= begin_ticks_ && ticks < end_ticks_;
    records.push_back({.time = time,
                       .fragment = {.hit_id = reinterpret_cast<const std::uint16_t*>(record.hit_id),
                                    .hit_time_fine = reinterpret_cast<const std::int16_t*>(record.hit_time_fine),
                                    .n_hits = record.n_hits,
                                    .sent_ns = record.sent_ns,
                                    .kernel_ns = record.kernel_ns,
                                    .placed_ns = ready_ns},
                       .is_own = is_own});
    if (!is_own) return;
    mep_counters_.add(MepMergeCounter::fragments_in);
    counters_.add(events::BuildCounter::fragments_in);
    counters_.add(events::BuildCounter::hits_in, record.n_hits);
    board_counters_[record.board].add(events::BoardCounter::fragments_in);
}

bool MepMerger::try_complete() noexcept {
    if (!is_busy_) return true;
    if (!writer_.flush()) return false;
    if (!is_merged_) {
        writer_.begin_work(clock_.monotonic_ns());
        is_merged_ = merge();
        if (!is_merged_) return false;
        if (writer_.is_open()) writer_.close(false);
    }
    is_busy_ = !writer_.flush();
    return !is_busy_;
}

/// Returns false when there is no room for the next event.
bool MepMerger::merge() noexcept {
    for (;;) {
        events::FineTime first = events::no_fragment;
        for (const Board& board : boards_) first = std::min(first, board.head());
        if (first == events::no_fragment || events::ticks_of(first) >= end_ticks_) return true;
        if (!try_build_event(first)) return false;
    }
}

bool MepMerger::try_build_event(events::FineTime first) noexcept {
    std::uint32_t members = 0, n_hits = 0;
    for (std::uint32_t board = 0; board < boards_.size(); ++board) {
        if (boards_[board].is_at_end() ||
            events::ticks_of(boards_[board].head()) - events::ticks_of(first) > config_.build.window_ticks)
            continue;
        members |= bit(board);
        n_hits += boards_[board].records[boards_[board].next].fragment.n_hits;
    }
    const bool is_ours = events::ticks_of(first) >= begin_ticks_;
    const bool is_kept = members == all_boards_ || config_.build.keep_incomplete;
    if (is_ours && is_kept && !writer_.make_room(n_hits, burst_id_)) return false;
    if (!is_sure_ && events::ticks_of(first) > last_ticks_ + config_.build.window_ticks) is_sure_ = true;
    if (!is_ours) {
        pass_over(members, false);
        return true;
    }
    if (!is_sure_) {
        mep_counters_.add(MepMergeCounter::edges_unsure);
        is_sure_ = true;  // counted once per packet
    }
    count_event(members);
    if (is_kept) {
        append(members, first);
    } else {
        counters_.add(events::BuildCounter::events_rejected);
        counters_.add(events::BuildCounter::hits_rejected, n_hits);
        pass_over(members, true);
    }
    return true;
}

void MepMerger::append(std::uint32_t members, events::FineTime first) noexcept {
    writer_.begin_event(first);
    for (std::uint32_t left = members; left != 0; left &= left - 1) {
        Board& board = boards_[static_cast<std::uint32_t>(std::countr_zero(left))];
        writer_.append(board.records[board.next].fragment, board.head());
        advance(board);
    }
    writer_.end_event(all_boards_ & ~members);
}

/// Counts an event and its fragments, also those that belong to the next packet.
void MepMerger::count_event(std::uint32_t members) noexcept {
    using events::BuildCounter;
    const std::uint32_t missing = all_boards_ & ~members;
    counters_.add(BuildCounter::events_built);
    counters_.add(missing == 0 ? BuildCounter::events_complete : BuildCounter::events_incomplete);
    counters_.add(BuildCounter::fragments_merged, static_cast<std::uint64_t>(std::popcount(members)));
    for (std::uint32_t left = missing; left != 0; left &= left - 1)
        board_counters_[static_cast<std::uint32_t>(std::countr_zero(left))].add(events::BoardCounter::missing);
    for (std::uint32_t left = members; left != 0; left &= left - 1) {
        const Board& board = boards_[static_cast<std::uint32_t>(std::countr_zero(left))];
        const Record& record = board.records[board.next];
        if (record.is_own) continue;
        mep_counters_.add(MepMergeCounter::fragments_from_next);
        mep_counters_.add(MepMergeCounter::hits_from_next, record.fragment.n_hits);
    }
}

void MepMerger::pass_over(std::uint32_t members, bool is_ours) noexcept {
    for (std::uint32_t left = members; left != 0; left &= left - 1) {
        Board& board = boards_[static_cast<std::uint32_t>(std::countr_zero(left))];
        const Record& record = board.records[board.next];
        if (record.is_own && !is_ours) {
            mep_counters_.add(MepMergeCounter::fragments_to_previous);
            mep_counters_.add(MepMergeCounter::hits_to_previous, record.fragment.n_hits);
        }
        advance(board);
    }
}

/// Goes to the next fragment. Fragments with the same time as the one just used count as duplicates.
void MepMerger::advance(Board& board) noexcept {
    board.used = board.head();
    last_ticks_ = std::max(last_ticks_, events::ticks_of(board.used));
    for (++board.next; board.head() == board.used; ++board.next) {
        const Record& record = board.records[board.next];
        if (!record.is_own) continue;
        counters_.add(events::BuildCounter::fragments_duplicate);
        counters_.add(events::BuildCounter::hits_duplicate, record.fragment.n_hits);
    }
}

}  // namespace anello::rich
