// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/notice.hpp"

namespace anello::exchange {

/// A multi-event packet as a builder passes it on: the MFPs (docs/reference/mfp.md) of its events, side by side.
struct MepView {
    std::uint64_t mep = 0;
    std::uint64_t first_event = 0;
    std::uint32_t n_events = 0;
    std::uint32_t slot = 0;       ///< what try_give_back() names
    std::uint32_t n_missing = 0;  ///< readout units of the run that gave nothing, or are gone
    Nanoseconds built_ns = 0;     ///< wall clock
    /// By readout unit; empty where one gave nothing. Headers and tables are checked, fragments on a share.
    std::span<const std::span<const std::byte>> mfps;
};

/// The stage behind a builder unit. The builder's thread calls all members.
class MepSink {
  public:
    virtual ~MepSink() = default;
    /// False: no room now; the same will be offered again. The sink owns what `mep` points at until try_give_back()
    /// names its slot.
    virtual bool try_take(const MepView& mep) noexcept = 0;
    /// A slot that the sink needs no more, in any order.
    virtual bool try_give_back(std::uint32_t& slot) noexcept = 0;
    /// After the last MEP, when all slots came back; completes what there is to complete.
    virtual void close() noexcept {}
    /// For the operator: what went wrong since the last call, one line each.
    virtual Notices notices() { return {}; }
};

/// Takes everything and gives it back at once: only the builder's counters matter.
class DiscardingSink final : public MepSink {
  public:
    explicit DiscardingSink(std::uint32_t n_slots) { slots_.reserve(n_slots); }
    bool try_take(const MepView& mep) noexcept override {
        slots_.push_back(mep.slot);  // reserved: a slot is here at most once
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
