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
    std::uint16_t source_id = 0;  ///< the readout unit
    std::uint32_t run_id = 0;     ///< the farm's
    std::uint32_t packing = 1;

    static constexpr std::uint8_t alignment_log2 = 6;  ///< fragments may be read from where they lie
    static MfpPackerConfig of(const ExchangeConfig& exchange) {
        return {exchange.farm.readout_of[exchange.self], exchange.run_id, exchange.packing};
    }
    std::size_t max_mfp_bytes(std::size_t max_fragment_bytes) const noexcept {
        return wire::mfp::max_packet_bytes(packing, max_fragment_bytes, alignment_log2, wire::mfp::long_fragments);
    }
};

/// A source's parts of events, one of an event and in the order of events, as MFPs: a part is a large fragment, empty
/// where the source has nothing of an event. One thread calls all members but discard(). Hot path: no allocation, no
/// lock, no log, no throw.
class MfpPacker {
  public:
    /// Ring and clock must outlive it. Throws ConfigError where no MFP of such fragments fits into a buffer.
    MfpPacker(const MfpPackerConfig& config, std::size_t max_fragment_bytes, MfpRing& ring, const Clock& clock,
              const Counters<PackCounter>& counters);

    /// Any thread: MFPs are no longer taken; later parts are counted as left.
    void discard() noexcept { discarding_.store(true, std::memory_order_relaxed); }
    /// True from when it is known with which packet the readout unit begins, or that it takes none.
    bool try_begin() noexcept;
    std::uint64_t next_event() const noexcept { return next_event_; }  ///< behind those packed or passed

    /// A part of n_bytes, which write(memory) writes. Returns what it was counted as: packed, left, before_start (of a
    /// packet before the first that the readout unit sends, or of an event passed), after_end (of one behind the last
    /// of the run, or come after the end was passed), or waits_for_room: nothing is done, offer it again.
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
    /// The open MFP goes as it is.
    void close() noexcept;
    /// Once the run's end is known, and nothing before it is to come (has_ended: or nothing at all), readout units may
    /// say that there is no more. True when that was now.
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
    std::optional<wire::mfp::Writer> writer_;  ///< of the MFP that is open
    std::uint64_t mep_ = 0;
    std::uint32_t buffer_ = 0, n_written_ = 0;  ///< fragments, the empty ones too
    bool passed_end_ = false;
    std::atomic<bool> discarding_{false};
};

}  // namespace anello::exchange
