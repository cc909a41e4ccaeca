// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "km3net/trigger/slice_trigger.hpp"

namespace anello::km3net {

struct DecisionsConfig {
    SliceTriggerConfig trigger;
    MessageStoreConfig store;
};

/// The stage trigger and, when messages are to be stored, the stage store. The control thread calls all members.
class Decisions {
  public:
    /// `slices` has the slices of all DOMs. DOMs, slices, clock and page must outlive the object. Throws ConfigError,
    /// SystemError.
    Decisions(const DecisionsConfig& config, std::span<const Dom> doms, SliceStore& slices, const Clock& clock,
              CounterPage& page);

    std::vector<pipeline::Stage> stages();
    SliceTrigger& trigger() noexcept { return trigger_; }

  private:
    std::unique_ptr<MessageStore> store_;  ///< null when nothing is stored
    SliceTrigger trigger_;
};

}  // namespace anello::km3net
