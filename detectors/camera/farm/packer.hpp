// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "camera/events/builder/builder.hpp"
#include "camera/farm/farm_counters.hpp"
#include "core/counters/counters.hpp"
#include "exchange/mfp_packer.hpp"

namespace anello::camera {

/// Largest size of a fragment with the data of n_boards boards.
std::size_t camera_group_bytes(const CameraShape& shape, std::uint32_t n_boards) noexcept;

/// Packs the events of one group of boards into MFPs: event number e of the camera is event e of the exchange, and a
/// fragment is a camera group (docs/reference/camera-group.md), empty if the group has no data. A farm carries one run
/// of the camera. The builder's consumer thread calls all members except those marked.
class CameraPacker {
  public:
    /// Builder, ring, clock and page must outlive it. Counters are added as "pack". Throws ConfigError.
    CameraPacker(const exchange::MfpPackerConfig& config, CameraBuilder& builder, exchange::MfpRing& ring,
                 const Clock& clock, CounterPage& page);

    /// Hot path: no allocation, no lock, no log, no throw.
    std::size_t do_work() noexcept;

    /// Any thread. From now on no MFPs are taken; later fragments are counted as left.
    void discard() noexcept { packer_.discard(); }
    /// Any thread. True once the camera's run is over and all of it has been given to the ring.
    bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }  // pairs with do_work()
    const Counters<CameraPackCounter>& counters() const noexcept { return counters_; }

  private:
    bool try_pass_on(const CameraPart& part) noexcept;
    bool try_pack(const CameraPart& part) noexcept;
    void end_run() noexcept;
    std::uint64_t event_of(const CameraPart& part) const noexcept;
    void write(std::span<std::byte> group, const CameraPart& part) const noexcept;

    CameraBuilder& builder_;
    Counters<CameraPackCounter> counters_;
    exchange::MfpPacker packer_;
    CameraPart part_;        ///< the part taken from the builder last
    bool has_part_ = false;  ///< part_ is still to be packed
    std::optional<std::uint32_t> camera_run_id_;
    std::atomic<bool> ended_{false};
};

}  // namespace anello::camera
