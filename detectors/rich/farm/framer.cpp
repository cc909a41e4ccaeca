// SPDX-License-Identifier: Apache-2.0
#include "rich/farm/framer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/errors.hpp"
#include "rich/wire/rich_frame.hpp"
#include "wire/mfp.hpp"

namespace anello::rich {
namespace {

constexpr std::size_t max_per_step = 4096;  ///< fragments; then other work of the same thread gets its turn
constexpr std::uint8_t alignment_log2 = 2;  ///< records are multiples of 4 bytes and need no padding
constexpr std::uint32_t max_frame_bytes = 0xffff - wire::rich_frame::record_header_bytes;  ///< without the origin

const RichFrames& validated(const RichFrames& frames, const exchange::MfpRing& ring) {
    frames.validate();
    if (frames.packing > 0xffff ||
        wire::mfp::max_packet_bytes(frames.packing, 0, alignment_log2) + wire::rich_frame::record_header_bytes >=
            ring.buffer_bytes())
        throw ConfigError("fabric.max_message_bytes", "must hold a multi-fragment packet's tables and fragments",
                          std::to_string(ring.buffer_bytes()), "Raise it, or lower exchange.packing.");
    return frames;
}

}  // namespace

RichFramer::RichFramer(const RichFramerConfig& config, events::BlockSource& blocks, exchange::MfpRing& ring,
                       const Clock& clock, CounterPage& page)
    : BoardJoin(config.boards, blocks, clock, page, "build"),
      framer_(config),
      ring_(ring),
      clock_(clock),
      framed_(page.add_block<FramerCounter>("framer")),
      stages_{{ring.buffer_bytes(), validated(config.frames, ring).packing},
              {ring.buffer_bytes(), config.frames.packing}},
      max_bytes_(ring.buffer_bytes() - wire::mfp::max_packet_bytes(config.frames.packing, 0, alignment_log2) -
                 wire::rich_frame::record_header_bytes) {}

void RichFramer::begin(Stage& stage, std::uint64_t mep) noexcept {
    stage.mep = mep;
    stage.n_bytes = stage.n_own = stage.n_own_hits = 0;
    std::fill(stage.frame_bytes.begin(), stage.frame_bytes.end(), 0U);
}

/// Skips the packets of bursts that no board of this node saw; the ring reports that they do not exist.
void RichFramer::begin_joining() noexcept {
    has_last_ = false;
    is_known_burst_ = framer_.frames.knows(burst_id_);
    if (!is_known_burst_) return;
    const std::uint64_t first = std::max(framer_.frames.first_mep(burst_id_), ring_.first_mep());
    if (has_open_ && first <= open_->mep) return;
    has_open_ = true;
    begin(*open_, first);
    begin(*next_, first + 1);
    ring_.pass(first);
}

std::size_t RichFramer::join(Nanoseconds) noexcept {
    std::size_t n_taken = 0;
    for (; n_taken < max_per_step && waited_for() == 0; ++n_taken) {
        const auto first = std::min_element(heads_.begin(), heads_.begin() + n_boards_);
        if (*first == events::no_fragment || !take(static_cast<std::uint32_t>(first - heads_.begin()))) break;
    }
    counters_.add(events::BuildCounter::fragments_merged, n_taken);
    return n_taken;
}

/// Puts a fragment into its packet and the neighbour that it overlaps with; false, and nothing done: no free buffer.
bool RichFramer::take(std::uint32_t board) noexcept {
    const RichFrames& frames = framer_.frames;
    const std::uint64_t all_ticks = events::ticks_of(heads_[board]);
    const auto ticks = static_cast<std::uint32_t>(all_ticks);
    if (!is_known_burst_) {
        framed_.add(FramerCounter::fragments_of_unknown_burst);
    } else if (ticks >= frames.burst_ticks()) {
        framed_.add(FramerCounter::fragments_beyond_burst);
    } else {
        const std::uint64_t mep = frames.first_mep(burst_id_) + ticks / frames.mep_ticks();
        const std::uint64_t begin_ticks = frames.begin_ticks(mep);
        // A packet stays open while an event that began in it may continue.
        const std::uint64_t open_to = ticks - begin_ticks <= frames.window_ticks && begin_ticks > 0 ? mep - 1 : mep;
        if (open_to > open_->mep && !try_open(open_to)) return false;
        last_ticks_ = all_ticks;
        has_last_ = true;
        if (mep >= ring_.end_mep()) {
            framed_.add(FramerCounter::fragments_after_end);
        } else if (mep < open_->mep) {
            framed_.add(FramerCounter::fragments_before_start);
        } else {
            put(mep == open_->mep ? *open_ : *next_, board, ticks, Place::own);
            const bool is_near_end = begin_ticks + frames.mep_ticks() - ticks <= frames.overlap_ticks();
            if (mep == next_->mep) put(*open_, board, ticks, Place::overlap);
            if (mep == open_->mep && is_near_end && (mep + 1) % frames.meps_per_burst != 0)
                put(*next_, board, ticks, Place::overlap);
        }
    }
    advance(board);
    look_at_doubts();
    return true;
}

/// Adds a record. Records of the overlap are in the packet's first or last frame.
void RichFramer::put(Stage& stage, std::uint32_t board, std::uint32_t ticks, Place place) noexcept {
    const events::Fragment fragment = streams_[board].fragment();
    const RichFrames& frames = framer_.frames;
    const auto begin_ticks = static_cast<std::int64_t>(frames.begin_ticks(stage.mep));
    const std::int64_t frame = std::clamp<std::int64_t>((std::int64_t{ticks} - begin_ticks) / frames.frame_ticks, 0,
                                                        std::int64_t{frames.packing} - 1);
    std::uint32_t& frame_bytes = stage.frame_bytes[static_cast<std::size_t>(frame)];
    const std::size_t n_bytes = wire::rich_frame::record_bytes(fragment.n_hits);
    const bool has_room =
        fragment.n_hits <= 0xffff && frame_bytes + n_bytes <= max_frame_bytes && stage.n_bytes + n_bytes <= max_bytes_;
    if (place == Place::overlap) {
        framed_.add(FramerCounter::fragments_overlapping, has_room ? 1 : 0);
    } else if (has_room) {
        ++stage.n_own;
        stage.n_own_hits += fragment.n_hits;
    } else {
        framed_.add(FramerCounter::fragments_no_room);
    }
    if (!has_room) return;
    wire::rich_frame::write({.timestamp_ticks = ticks,
                             .fine_time = static_cast<std::uint8_t>(heads_[board]),
                             .board = static_cast<std::uint8_t>(config_.first_board + board),
                             .n_hits = static_cast<std::uint16_t>(fragment.n_hits),
                             .sent_ns = fragment.sent_ns,
                             .kernel_ns = fragment.kernel_ns,
                             .hit_id = reinterpret_cast<const std::byte*>(fragment.hit_id),
                             .hit_time_fine = reinterpret_cast<const std::byte*>(fragment.hit_time_fine)},
                            stage.bytes.get() + stage.n_bytes);
    stage.n_bytes += n_bytes;
    frame_bytes += static_cast<std::uint32_t>(n_bytes);
}

/// Passes on packets until `mep` is the current one. Returns false when no buffer is free; some may be passed on.
bool RichFramer::try_open(std::uint64_t mep) noexcept {
    while (open_->mep < mep)
        if (!try_close()) return false;
    return true;
}

bool RichFramer::try_close() noexcept {
    std::uint32_t buffer = 0;
    const bool is_wanted = open_->mep < ring_.end_mep();
    if (is_wanted && ring_.try_take_free(buffer)) {
        const std::uint32_t length_bytes = write(*open_, buffer);
        framed_.add(FramerCounter::mfps);
        framed_.add(FramerCounter::events, framer_.frames.packing);
        framed_.add(FramerCounter::bytes, length_bytes);
        framed_.add(FramerCounter::fragments, open_->n_own);
        framed_.add(FramerCounter::hits, open_->n_own_hits);
        ring_.give({.mep = open_->mep, .buffer = buffer, .length_bytes = length_bytes});
    } else if (is_wanted && !is_abandoned_.load(std::memory_order_acquire)) {  // pairs with abandon()
        framed_.add(FramerCounter::waits_for_room);
        return false;
    } else {
        framed_.add(is_wanted ? FramerCounter::fragments_left : FramerCounter::fragments_after_end, open_->n_own);
    }
    std::swap(open_, next_);
    begin(*next_, open_->mep + 1);
    return true;
}

/// Size of the burst's origin at the head of the first frame; 0 if the boards have not sent it.
std::size_t RichFramer::origin_bytes_of(const Stage& stage) const noexcept {
    const bool is_known = burst_origin_ns_ != 0 && framer_.frames.burst_id(stage.mep) == burst_id_;
    return is_known ? wire::rich_frame::record_header_bytes : 0;
}

std::uint32_t RichFramer::write(const Stage& stage, std::uint32_t buffer) noexcept {
    wire::mfp::Writer writer(ring_.bytes(buffer), {.alignment_log2 = alignment_log2,
                                                   .source_id = framer_.source_id,
                                                   .n_fragments = static_cast<std::uint16_t>(stage.frame_bytes.size()),
                                                   .run_id = framer_.run_id,
                                                   .first_event = stage.mep * framer_.frames.packing,
                                                   .ready_ns = clock_.wall_ns()});
    const std::byte* from = stage.bytes.get();
    std::size_t origin_bytes = origin_bytes_of(stage);
    for (const std::uint32_t n_bytes : stage.frame_bytes) {
        std::span<std::byte> place = writer.add(static_cast<std::uint32_t>(origin_bytes + n_bytes));
        if (origin_bytes > 0) wire::rich_frame::write(wire::rich_frame::origin_record(burst_origin_ns_), place.data());
        place = place.subspan(std::exchange(origin_bytes, 0));
        if (n_bytes > 0) std::memcpy(place.data(), from, n_bytes);
        from += n_bytes;
    }
    return static_cast<std::uint32_t>(writer.finish());
}

/// Passes on the burst's last packets, also empty ones.
bool RichFramer::try_end_joining() noexcept {
    if (!is_known_burst_ || !has_open_) return true;
    const std::uint64_t end = framer_.frames.first_mep(burst_id_) + framer_.frames.meps_per_burst;
    return try_open(std::min(end, std::max(ring_.end_mep(), open_->mep)));
}

}  // namespace anello::rich
