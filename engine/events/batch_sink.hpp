// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "events/event_batch.hpp"
#include "memory/spsc_ring.hpp"

namespace anello::events {

/// Receives full batches. The merger's thread calls it once per batch. If it refuses a batch, the merger offers the
/// same batch again and merges nothing until it is accepted.
class BatchSink {
  public:
    virtual ~BatchSink() = default;
    virtual bool try_give(const BatchCompletion& batch) noexcept = 0;
};

/// Passes full batches on through a ring.
class RingSink final : public BatchSink {
  public:
    explicit RingSink(memory::SpscRing<BatchCompletion>& ring) noexcept : ring_(ring) {}
    bool try_give(const BatchCompletion& batch) noexcept override { return ring_.try_give(batch); }

  private:
    memory::SpscRing<BatchCompletion>& ring_;
};

}  // namespace anello::events
