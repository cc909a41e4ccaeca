// SPDX-License-Identifier: Apache-2.0
#include "km3net/farm/packer.hpp"

namespace anello::km3net {

SlicePacker::SlicePacker(const SlicePackerConfig& config, std::span<const Dom> doms, SliceStore& slices,
                         exchange::MfpRing& ring, const Clock& clock, CounterPage& page)
    : config_(config),
      doms_(doms),
      slices_(slices),
      counters_(page.add_block<SlicePackCounter>("slice_pack")),
      packer_(config.mfp, max_part_bytes(doms.size(), slices.config().max_hits), ring, clock),
      clock_(clock),
      quiet_since_ns_(clock.monotonic_ns()) {}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t SlicePacker::do_work() noexcept {
    std::size_t n_done = 0;
    while (has_slice_ || (has_slice_ = slices_.try_take(buffer_))) {
        if (discarding_.load(std::memory_order_relaxed)) {
            end(SlicePackCounter::slices_left);
        } else if (!try_pack(slices_.slice(buffer_))) {
            counters_.add(SlicePackCounter::waits_for_room);
            break;
        }
        ++n_done;
    }
    packer_.try_begin();
    packer_.try_pass_end(is_over(n_done));
    counters_.set(SlicePackCounter::mfps, packer_.n_mfps());
    counters_.set(SlicePackCounter::bytes, packer_.n_bytes());
    return n_done;
}

/// Boards do not say when they stop: where that is before the last packet that was assigned, it shows by silence, for
/// as long as builders would wait. Those that have not begun are waited for.
bool SlicePacker::is_over(std::size_t n_done) noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    const bool has_begun = counters_[SlicePackCounter::slices_in] > 0;
    if (n_done > 0 || has_slice_ || !has_begun || !packer_.knows_end()) quiet_since_ns_ = now_ns;
    const bool is_last = config_.n_slices > 0 && packer_.next_event() >= config_.n_slices;
    return is_last || now_ns - quiet_since_ns_ > config_.patience_ns;
}

/// False: no room; the same slice will be offered again.
bool SlicePacker::try_pack(const Slice& slice) noexcept {
    using Place = exchange::MfpPacker::Place;
    const bool is_early = slice.number < config_.first_slice;
    const Place place = is_early ? Place::before_start : packer_.try_open(slice.number - config_.first_slice);
    if (place == Place::no_room) return false;
    if (place == Place::ready) add(slice);
    end(place == Place::ready          ? SlicePackCounter::slices_packed
        : place == Place::before_start ? SlicePackCounter::slices_before_start
                                       : SlicePackCounter::slices_after_end);
    return true;
}

void SlicePacker::add(const Slice& slice) noexcept {
    const std::span<std::byte> to = packer_.add(static_cast<std::uint32_t>(part_bytes(slice)));
    write_part(
        to, {config_.detector, slice.run, static_cast<std::uint32_t>(slice.number - config_.first_slice), slice.number},
        doms_, slices_, buffer_);
    packer_.end_fragment();
}

void SlicePacker::end(SlicePackCounter outcome) noexcept {
    for (const Frame& frame : slices_.slice(buffer_).frames)
        counters_.add(
            outcome == SlicePackCounter::slices_packed ? SlicePackCounter::hits : SlicePackCounter::hits_dropped,
            frame.n_hits);
    slices_.buffers().give_back(buffer_);
    has_slice_ = false;
    counters_.add(outcome);
    counters_.add(SlicePackCounter::slices_in);
}

}  // namespace anello::km3net
