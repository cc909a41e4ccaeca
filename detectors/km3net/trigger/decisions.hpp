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

/// The stages trigger and, where messages are stored, store. The control thread calls all members.
class Decisions {
  public:
    /// slices: of all DOMs. They, the clock and the page must outlive it. Throws ConfigError, SystemError.
    Decisions(const DecisionsConfig& config, std::span<const Dom> doms, SliceStore& slices, const Clock& clock,
              CounterPage& page);

    std::vector<pipeline::Stage> stages();
    SliceTrigger& trigger() noexcept { return trigger_; }

  private:
    std::unique_ptr<MessageStore> store_;  ///< null where nothing is stored
    SliceTrigger trigger_;
};

}  // namespace anello::km3net
