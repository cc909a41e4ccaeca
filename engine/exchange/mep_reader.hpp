// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exchange/mep_sink.hpp"
#include "exchange/part_counters.hpp"
#include "wire/mfp.hpp"

namespace anello::exchange {

/// Reads a multi-event packet that a builder unit built, event by event: for each event the parts of all readout units,
/// in place. One thread calls all members. Hot path: no allocation, no lock, no log, no throw.
class MepReader {
  public:
    MepReader(std::uint32_t n_readouts, const Counters<UnpackCounter>& counters)
        : readouts_(n_readouts), counters_(counters) {}
    MepReader(const MepReader&) = delete;
    MepReader& operator=(const MepReader&) = delete;

    void open(const MepView& mep) noexcept;
    const MepView& mep() const noexcept { return mep_; }  ///< the packet opened last
    bool is_at_end() const noexcept { return next_place_ == mep_.n_events; }
    std::uint64_t next_event() const noexcept { return mep_.first_event + next_place_; }

    /// Reads the next event. take(readout, part) takes one part of it, and returns the outcome that counts it. Returns
    /// false if no part joined the event.
    template <typename Take>
    bool read(Take&& take) noexcept {
        ++next_place_;
        bool has_any = false;
        std::span<const std::byte> part;
        for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
            if (!readouts_[i].fragments || !readouts_[i].fragments->next(part) || part.empty()) continue;
            const UnpackCounter outcome = take(i, part);
            counters_.add(UnpackCounter::parts_in);
            counters_.add(outcome);
            has_any = has_any || outcome == UnpackCounter::parts_joined;
        }
        return has_any;
    }
    void count_empty_place() noexcept { counters_.add(UnpackCounter::places_empty); }

  private:
    struct Readout {
        wire::mfp::PacketView packet;
        std::optional<wire::mfp::FragmentReader> fragments;  ///< none: this readout unit gave no MFP
    };

    std::vector<Readout> readouts_;
    Counters<UnpackCounter> counters_;
    MepView mep_;
    std::uint32_t next_place_ = 0;
};

}  // namespace anello::exchange
