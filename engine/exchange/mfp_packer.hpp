// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "core/clock.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/mfp_ring.hpp"
#include "exchange/part_counters.hpp"
#include "wire/mfp.hpp"

namespace anello::exchange {

struct MfpPackerConfig {
    std::uint16_t source_id = 0;  ///< number of the readout unit
    std::uint32_t run_id = 0;     ///< run of the farm
    std::uint32_t packing = 1;

    static constexpr std::uint8_t alignment_log2 = 6;  ///< fragments may be read in place
    static MfpPackerConfig of(const ExchangeConfig& exchange) {
        return {exchange.farm.readout_of[exchange.self], exchange.run_id, exchange.packing};
    }
    std::size_t max_mfp_bytes(std::size_t max_fragment_bytes) const noexcept {
        return wire::mfp::max_packet_bytes(packing, max_fragment_bytes, alignment_log2, wire::mfp::long_fragments);
    }
};

/// Packs a source's parts of events, one per event and in the order of events, into MFPs. A part is a large fragment,
/// and is empty if the source has no data of the event. One thread calls all members but discard(). Hot path: no
/// allocation, no lock, no log, no throw.
class MfpPacker {
  public:
    /// Ring and clock must outlive it. Throws ConfigError if no MFP with such fragments fits into a buffer.
    MfpPacker(const MfpPackerConfig& config, std::size_t max_fragment_bytes, MfpRing& ring, const Clock& clock,
              const Counters<PackCounter>& counters);

    /// Any thread may call it. The readout unit no longer takes MFPs; later parts are counted as left.
    void discard() noexcept { discarding_.store(true, std::memory_order_relaxed); }
    /// True once it is known with which packet the readout unit begins, or that it takes none.
    bool try_begin() noexcept;
    /// one more than the last event packed or passed
    std::uint64_t next_event() const noexcept { return next_event_; }

    /// Adds a part of n_bytes, which write(memory) writes. Returns how it was counted: packed, left, before_start (its
    /// packet is before the first that the readout unit sends, or its event was passed), after_end (its packet is after
    /// the run's last one, or the end was passed already), or waits_for_room: nothing is done, offer it again.
    template <typename Write>
    PackCounter pack(std::uint64_t event, std::size_t n_bytes, Write&& write) noexcept {
        const PackCounter outcome = open(event);
        counters_.add(outcome);
        if (outcome == PackCounter::waits_for_room) return outcome;
        if (outcome == PackCounter::parts_packed) {
            ++n_written_;
            write(writer_->add(static_cast<std::uint32_t>(n_bytes)));
            if (n_written_ == config_.packing) close();
        }
        counters_.add(PackCounter::parts_in);
        return outcome;
    }
    /// Closes the open MFP with the fragments that it has.
    void close() noexcept;
    /// Once the run's end is known, and no part before it is to come (has_ended: or no part at all), reports to the
    /// readout unit that there is no more. Returns true if it did so in this call.
    bool try_pass_end(bool has_ended) noexcept;
    bool knows_end() const noexcept { return ring_.end_mep() != MfpRing::never; }

  private:
    PackCounter open(std::uint64_t event) noexcept;
    bool try_take_buffer(std::uint64_t mep) noexcept;

    const MfpPackerConfig config_;
    MfpRing& ring_;
    const Clock& clock_;
    Counters<PackCounter> counters_;
    std::uint64_t first_mep_ = MfpRing::never, next_event_ = 0;
    std::optional<wire::mfp::Writer> writer_;  ///< of the open MFP
    std::uint64_t mep_ = 0;
    std::uint32_t buffer_ = 0, n_written_ = 0;  ///< fragments, including empty ones
    bool passed_end_ = false;
    std::atomic<bool> discarding_{false};
};

}  // namespace anello::exchange
