// SPDX-License-Identifier: Apache-2.0
#include "km3net/farm/packer.hpp"

namespace anello::km3net {

SlicePacker::SlicePacker(const SlicePackerConfig& config, std::span<const Dom> doms, SliceStore& slices,
                         exchange::MfpRing& ring, const Clock& clock, CounterPage& page)
    : config_(config),
      doms_(doms),
      slices_(slices),
      counters_(page.add_block<SlicePackCounter>("slice_pack")),
      packer_(config.mfp, max_part_bytes(doms.size(), slices.config().max_hits), ring, clock,
              exchange::base_of<exchange::PackCounter>(counters_)),
      clock_(clock),
      quiet_since_ns_(clock.monotonic_ns()) {}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t SlicePacker::do_work() noexcept {
    if (!packer_.try_begin()) return 0;
    std::size_t n_done = 0;
    for (;; ++n_done) {
        has_slice_ = has_slice_ || slices_.try_take(buffer_);
        if (!has_slice_ || !try_pack(slices_.slice(buffer_))) break;
        has_slice_ = false;
    }
    packer_.try_pass_end(is_over(n_done));
    return n_done;
}

/// Boards do not announce their end. When they stop before the last packet that was assigned, the packer notices it by
/// a silence of patience_ns, as long as builders would wait. It waits for boards that have not begun.
bool SlicePacker::is_over(std::size_t n_done) noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    const bool has_begun = n_taken() > 0;
    if (n_done > 0 || has_slice_ || !has_begun || !packer_.knows_end()) quiet_since_ns_ = now_ns;
    const bool is_last = config_.n_slices > 0 && packer_.next_event() >= config_.n_slices;
    return is_last || now_ns - quiet_since_ns_ > config_.patience_ns;
}

/// Returns false when there is no room; the caller then offers the same slice again.
bool SlicePacker::try_pack(const Slice& slice) noexcept {
    const std::uint64_t event = slice.number - config_.first_slice;  // wraps before the first: an event passed
    const exchange::PackCounter outcome = packer_.pack(event, part_bytes(slice), [&](std::span<std::byte> to) {
        write_part(to, {config_.detector, slice.run, static_cast<std::uint32_t>(event), slice.number}, doms_, slices_,
                   buffer_);
    });
    if (outcome == exchange::PackCounter::waits_for_room) return false;
    const bool is_packed = outcome == exchange::PackCounter::parts_packed;
    for (const Frame& frame : slice.frames)
        counters_.add(is_packed ? SlicePackCounter::hits : SlicePackCounter::hits_dropped, frame.n_hits);
    slices_.buffers().give_back(buffer_);
    return true;
}

}  // namespace anello::km3net
