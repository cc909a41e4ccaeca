// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/clock.hpp"
#include "exchange/mfp_ring.hpp"
#include "wire/mfp.hpp"

namespace anello::exchange {

struct MfpPackerConfig {
    std::uint16_t source_id = 0;  ///< the readout unit
    std::uint32_t run_id = 0;     ///< the farm's
    std::uint32_t packing = 1;

    static constexpr std::uint8_t alignment_log2 = 6;  ///< fragments may be read from where they lie
    std::size_t max_mfp_bytes(std::size_t max_fragment_bytes) const noexcept {
        return wire::mfp::max_packet_bytes(packing, max_fragment_bytes, alignment_log2, wire::mfp::long_fragments);
    }
};

/// A source's large fragments, one of an event and in the order of events, as MFPs: empty where the source has nothing
/// of an event. One thread calls all members. Hot path: no allocation, no lock, no log, no throw.
class MfpPacker {
  public:
    enum class Place : std::uint8_t {
        ready,         ///< add() gives it
        before_start,  ///< of a multi-event packet before the first that the readout unit sends, or of an event passed
        after_end,     ///< of one behind the last of the run, or come after the end was passed
        no_room,       ///< no buffer is free, or it is not known yet which packet is the first: ask again
    };

    /// Ring and clock must outlive it. Throws ConfigError where no MFP of such fragments fits into a buffer.
    MfpPacker(const MfpPackerConfig& config, std::size_t max_fragment_bytes, MfpRing& ring, const Clock& clock);

    /// True from when the readout unit knows with which packet it begins.
    bool try_begin() noexcept;
    std::uint64_t next_event() const noexcept { return next_event_; }  ///< behind those added or passed
    Place try_open(std::uint64_t event) noexcept;
    /// Memory for the fragment of the event that try_open() found ready.
    std::span<std::byte> add(std::uint32_t n_bytes) noexcept;
    /// The fragment is written.
    void end_fragment() noexcept {
        if (n_written_ == config_.packing) close();
    }
    /// The open MFP goes as it is.
    void close() noexcept;
    /// Once the run's end is known, and nothing before it is to come (has_ended: or nothing at all), readout units may
    /// say that there is no more. True when that was now.
    bool try_pass_end(bool has_ended) noexcept;

    bool knows_end() const noexcept { return ring_.end_mep() != MfpRing::never; }
    std::uint64_t n_mfps() const noexcept { return n_mfps_; }
    std::uint64_t n_bytes() const noexcept { return n_bytes_; }  ///< of these

  private:
    bool try_take_buffer(std::uint64_t mep) noexcept;

    const MfpPackerConfig config_;
    MfpRing& ring_;
    const Clock& clock_;
    std::uint64_t first_mep_ = MfpRing::never, next_event_ = 0;
    std::optional<wire::mfp::Writer> writer_;  ///< of the MFP that is open
    std::uint64_t mep_ = 0;
    std::uint32_t buffer_ = 0, n_written_ = 0;  ///< fragments, the empty ones too
    std::uint64_t n_mfps_ = 0, n_bytes_ = 0;
    bool passed_end_ = false;
};

}  // namespace anello::exchange
