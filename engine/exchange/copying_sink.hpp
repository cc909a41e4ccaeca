// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "exchange/mep_sink.hpp"

namespace anello::exchange {

/// Takes one packet at a time, and copies its content as the next stage has room. It returns the packet's slot as soon
/// as all is copied.
class CopyingSink : public MepSink {
  public:
    bool try_take(const MepView& mep) noexcept final {
        if (holds_slot_) return false;
        slot_ = mep.slot;
        holds_slot_ = true;
        begin(mep);
        try_complete();
        return true;
    }
    bool try_give_back(std::uint32_t& slot) noexcept final {
        if (!holds_slot_ || !try_complete()) return false;
        slot = slot_;
        holds_slot_ = false;
        return true;
    }

    /// Called only when the packet before is done (try_complete() returned true). `mep` stays valid until this one is
    /// done.
    virtual void begin(const MepView& mep) noexcept = 0;
    /// Copies as much as there is room for. Returns true when the packet that was begun last is copied whole. After the
    /// builder's thread has ended, the thread that checks whether all is drained calls it, too.
    virtual bool try_complete() noexcept = 0;

  private:
    std::uint32_t slot_ = 0;
    bool holds_slot_ = false;
};

}  // namespace anello::exchange
