// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "exchange/mep_sink.hpp"

namespace anello::exchange {

/// Takes one packet at a time, and copies out of it what the stage behind has room for: its slot comes back as soon as
/// that is all.
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

    /// Needs the packet before to be done, as the function below says; `mep` must stay until it is.
    virtual void begin(const MepView& mep) noexcept = 0;
    /// Copies what there is room for; true: all of the packet that was begun last. Also called by who asks whether all
    /// is drained, once the builder's thread has ended.
    virtual bool try_complete() noexcept = 0;

  private:
    std::uint32_t slot_ = 0;
    bool holds_slot_ = false;
};

}  // namespace anello::exchange
