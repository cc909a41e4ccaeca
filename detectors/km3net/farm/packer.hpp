// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/counters/counters.hpp"
#include "exchange/mfp_packer.hpp"
#include "km3net/farm/farm_counters.hpp"
#include "km3net/farm/slice_part.hpp"

namespace anello::km3net {

struct SlicePackerConfig {
    exchange::MfpPackerConfig mfp;
    std::uint32_t detector = 1;
    std::uint64_t first_slice = 1;            ///< slice first_slice + e is event e of the exchange
    std::uint64_t n_slices = 0;               ///< number of slices of the run; 0: not known
    Nanoseconds patience_ns = 1'000'000'000;  ///< boards count as stopped after this silence at the run's end
};

/// Packs slices of this node's DOMs into MFPs; a fragment is a slice part. One thread calls all but the marked members.
class SlicePacker {
  public:
    /// DOMs, slices, ring and clock must outlive the packer. Counters: "slice_pack". Throws ConfigError.
    SlicePacker(const SlicePackerConfig& config, std::span<const Dom> doms, SliceStore& slices, exchange::MfpRing& ring,
                const Clock& clock, CounterPage& page);

    /// Returns the number of slices packed or dropped. Hot path: no allocation, no lock, no log, no throw.
    std::size_t do_work() noexcept;

    /// Any thread may call this when MFPs are no longer taken; the packer counts later slices as left.
    void discard() noexcept { packer_.discard(); }
    /// Any thread may ask whether no slice waits to be packed.
    bool is_drained() const noexcept { return n_taken() == slices_.n_passed_on(); }
    const Counters<SlicePackCounter>& counters() const noexcept { return counters_; }

  private:
    std::uint64_t n_taken() const noexcept {
        return exchange::base_of<exchange::PackCounter>(counters_)[exchange::PackCounter::parts_in];
    }
    bool try_pack(const Slice& slice) noexcept;
    bool is_over(std::size_t n_done) noexcept;

    const SlicePackerConfig config_;
    const std::span<const Dom> doms_;
    SliceStore& slices_;
    Counters<SlicePackCounter> counters_;
    exchange::MfpPacker packer_;
    const Clock& clock_;
    Nanoseconds quiet_since_ns_;  ///< monotonic; starts when the run's end is known
    std::uint32_t buffer_ = 0;    ///< of the slice taken last
    bool has_slice_ = false;      ///< the slice in buffer_ is still to be packed
};

}  // namespace anello::km3net
