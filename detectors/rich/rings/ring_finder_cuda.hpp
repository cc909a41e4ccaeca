// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "rich/rings/batch_finder.hpp"

namespace anello::rich {

/// The ring finders on a CUDA device (the first in CUDA_VISIBLE_DEVICES). It allocates its device buffers, page-locked
/// buffers and streams once. It copies a batch in, searches it, and copies only its rings back; a large batch is
/// processed in several parts at a time. Each thread that calls find() needs its own. A build without CUDA also has
/// this class, which then reports that.
class CudaRingFinder final : public BatchFinder {
  public:
    /// Why no device can be used; empty if one can.
    static std::string unavailable_reason();

    /// Larger batches are cut into pieces of at most max_events events and max_hits hits. placement: it is copied to
    /// the device; without positions no ids can be sent. Throws ConfigError; SystemError if the device has too little
    /// memory.
    CudaRingFinder(const RingFinderConfig& config, std::uint32_t max_events, std::uint32_t max_hits,
                   const Placement& placement = {});
    ~CudaRingFinder() override;

    bool find(const HitsView& hits, EventRings* rings) noexcept override;
    std::uint32_t max_under_way() const noexcept override;
    /// For batches of one part; see BatchFinder.
    bool send(const HitIdsView& hits) noexcept override;
    bool collect(EventRings* rings, PlacedHits& placed) noexcept override;
    Room room() noexcept override;
    std::string_view device_name() const noexcept override;

  private:
    class Device;
    std::unique_ptr<Device> device_;
};

}  // namespace anello::rich
