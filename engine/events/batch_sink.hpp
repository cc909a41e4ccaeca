// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "events/event_batch.hpp"
#include "memory/spsc_ring.hpp"

namespace anello::events {

/// Where full batches go. Called once per batch by the merger's thread. A refused batch is offered again; until it is
/// accepted nothing is merged.
class BatchSink {
  public:
    virtual ~BatchSink() = default;
    virtual bool try_give(const BatchCompletion& batch) noexcept = 0;
};

/// Full batches into a ring.
class RingSink final : public BatchSink {
  public:
    explicit RingSink(memory::SpscRing<BatchCompletion>& ring) noexcept : ring_(ring) {}
    bool try_give(const BatchCompletion& batch) noexcept override { return ring_.try_give(batch); }

  private:
    memory::SpscRing<BatchCompletion>& ring_;
};

}  // namespace anello::events
