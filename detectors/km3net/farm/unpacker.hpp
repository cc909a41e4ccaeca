// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/counters/counters.hpp"
#include "exchange/copying_sink.hpp"
#include "exchange/mep_reader.hpp"
#include "km3net/farm/farm_counters.hpp"
#include "km3net/farm/slice_part.hpp"

namespace anello::km3net {

/// First DOM of a readout unit in the line, and the one after its last, as in anello.exchange.feed.Place.boards.
struct DomRange {
    std::uint32_t begin = 0, end = 0;
    bool contains(std::uint32_t dom) const noexcept { return dom >= begin && dom < end; }
};
DomRange doms_of(std::uint32_t readout, std::uint32_t n_readouts, std::uint32_t n_doms) noexcept;

struct SliceUnpackerConfig {
    std::uint32_t n_readouts = 1;
    std::uint32_t run = 1;
    std::uint64_t first_slice = 1;  ///< slice first_slice + e is event e of the exchange
};

/// Makes slices of all DOMs from the multi-event packets of one builder. It checks a part fully before copying it, and
/// does not use parts that have DOMs of another readout unit, another slice or run, or a wrong format.
class SliceUnpacker final : public exchange::CopyingSink {
  public:
    /// DOMs, slices and clock must outlive the unpacker. Counters: "slice_unpack". Throws ConfigError.
    SliceUnpacker(const SliceUnpackerConfig& config, std::span<const Dom> doms, SliceStore& slices, const Clock& clock,
                  CounterPage& page);

    // Hot path: no allocation, no lock, no log, no throw.
    void begin(const exchange::MepView& mep) noexcept override { reader_.open(mep); }
    bool try_complete() noexcept override;

    const Counters<SliceUnpackCounter>& counters() const noexcept { return counters_; }

  private:
    bool join(std::uint64_t number) noexcept;
    exchange::UnpackCounter judge(std::span<const std::byte> fragment, std::uint32_t readout, std::uint64_t number,
                                  SlicePart& part) noexcept;
    bool are_doms_right(const wire::daq::MessageView& message, const DomRange& range) noexcept;
    bool is_frame_right(const wire::daq::Frame& frame) const noexcept;
    void add(const SlicePart& part, Slice& slice) noexcept;
    void clear(Slice& slice, std::uint64_t number) const noexcept;
    void count(const Slice& slice) noexcept;

    const SliceUnpackerConfig config_;
    SliceStore& slices_;
    const Clock& clock_;
    const DomIndex index_;
    const std::uint32_t n_doms_;
    Counters<SliceUnpackCounter> counters_;
    exchange::MepReader reader_;
    std::vector<std::uint64_t> dom_seen_in_;  ///< by DOM: number of the last part that contained it
    std::uint64_t n_parts_ = 0;
    std::uint32_t buffer_ = 0;
    bool has_buffer_ = false;
};

}  // namespace anello::km3net
