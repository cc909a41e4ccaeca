// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/notice.hpp"

namespace anello::exchange {

/// A multi-event packet as a builder passes it on: the MFPs (docs/reference/mfp.md) of its events, one per readout
/// unit.
struct MepView {
    std::uint64_t mep = 0;
    std::uint64_t first_event = 0;
    std::uint32_t n_events = 0;
    std::uint32_t slot = 0;       ///< the number that try_give_back() returns
    std::uint32_t n_missing = 0;  ///< readout units of the run without an MFP here
    Nanoseconds built_ns = 0;     ///< wall clock
    /// By readout unit; empty if there is no MFP. Headers and tables are checked; a share of the fragments is verified.
    std::span<const std::span<const std::byte>> mfps;
};

/// The stage after a builder unit. The builder's thread calls all members.
class MepSink {
  public:
    virtual ~MepSink() = default;
    /// Returns false if there is no room now; the builder offers the packet again. The sink owns the memory of `mep`
    /// until try_give_back() returns its slot.
    virtual bool try_take(const MepView& mep) noexcept = 0;
    /// Returns a slot that the sink no longer needs, in any order.
    virtual bool try_give_back(std::uint32_t& slot) noexcept = 0;
    /// Called after the last MEP, when all slots are returned; completes the output.
    virtual void close() noexcept {}
    /// Problems since the last call, for the operator, one line each.
    virtual Notices notices() { return {}; }
};

/// Takes every packet and returns it at once, for runs in which only the builder's counters matter.
class DiscardingSink final : public MepSink {
  public:
    explicit DiscardingSink(std::uint32_t n_slots) { slots_.reserve(n_slots); }
    bool try_take(const MepView& mep) noexcept override {
        slots_.push_back(mep.slot);  // its memory is reserved: a slot is here at most once
        return true;
    }
    bool try_give_back(std::uint32_t& slot) noexcept override {
        if (slots_.empty()) return false;
        slot = slots_.back();
        slots_.pop_back();
        return true;
    }

  private:
    std::vector<std::uint32_t> slots_;
};

}  // namespace anello::exchange
