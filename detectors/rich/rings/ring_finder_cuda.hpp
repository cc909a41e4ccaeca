// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "rich/rings/batch_finder.hpp"

namespace anello::rich {

/// The ring finders on a CUDA device (the first that CUDA_VISIBLE_DEVICES shows). Device buffers, page-locked staging
/// and streams of its own are taken once; a batch is copied in, searched, and its rings alone are copied back, a large
/// one in parts, some of which are under way at a time.
/// One per thread that calls find(). Also there in a build without CUDA, where it says so.
class CudaRingFinder final : public BatchFinder {
  public:
    /// Empty when a device can be used, else why not.
    static std::string unavailable_reason();

    /// Larger batches are cut into pieces of at most max_events events and max_hits hits. placement: kept on the
    /// device; without positions no ids are taken. Throws ConfigError; SystemError where the device has too little
    /// memory.
    CudaRingFinder(const RingFinderConfig& config, std::uint32_t max_events, std::uint32_t max_hits,
                   const Placement& placement = {});
    ~CudaRingFinder() override;

    bool find(const HitsView& hits, EventRings* rings) noexcept override;
    std::uint32_t max_under_way() const noexcept override;
    /// Batches of one part; see there.
    bool send(const HitIdsView& hits) noexcept override;
    bool collect(EventRings* rings, PlacedHits& placed) noexcept override;
    Room room() noexcept override;
    std::string_view device_name() const noexcept override;

  private:
    class Device;
    std::unique_ptr<Device> device_;
};

}  // namespace anello::rich
