// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "camera/events/builder.hpp"
#include "camera/farm/farm_counters.hpp"
#include "core/counters.hpp"
#include "exchange/mfp_ring.hpp"
#include "wire/mfp.hpp"

namespace anello::camera {

struct CameraPackerConfig {
    std::uint16_t source_id = 0;  ///< the readout unit
    std::uint32_t run_id = 0;     ///< the farm's, not the camera's
    std::uint32_t packing = 16;

    static constexpr std::uint8_t alignment_log2 = 6;  ///< slots are read from where they lie
    /// With groups of n_boards boards.
    std::size_t max_mfp_bytes(const CameraShape& shape, std::uint32_t n_boards) const noexcept;
};

/// The events of one group of boards, as MFPs: event number e of the camera is event e of the exchange, a
/// fragment is a camera group (docs/reference/camera-group.md), empty where the group gave nothing. A farm carries one
/// run of the camera. The builder's consumer thread calls all members but those marked.
class CameraPacker final : public exchange::MfpSource {
  public:
    /// Builder, ring, clock and page must outlive it. Counters are added as "pack". Throws ConfigError.
    CameraPacker(const CameraPackerConfig& config, CameraBuilder& builder, exchange::MfpRing& ring, const Clock& clock,
                 CounterPage& page);

    /// Hot path: no allocation, no lock, no log, no throw.
    std::size_t do_work() noexcept override;
    Nanoseconds next_due_ns() const noexcept override;  ///< Never: events come when they come.

    /// Any thread: MFPs are no longer taken; later fragments are counted as left.
    void discard() noexcept { discarding_.store(true, std::memory_order_relaxed); }
    /// Any thread: the run of the camera is over, and all of it has been given to the ring.
    bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }  // pairs with end()
    const Counters<CameraPackCounter>& counters() const noexcept { return counters_; }

  private:
    bool try_begin() noexcept;
    bool try_take(const CameraPart& part) noexcept;
    std::uint64_t event_of(const CameraPart& part) const noexcept;
    void drop(const CameraPart& part, CameraPackCounter cause) noexcept;
    bool try_open(std::uint64_t mep) noexcept;
    void add(const CameraPart& part, std::uint32_t place) noexcept;
    void close() noexcept;
    void end() noexcept;
    bool try_pass_end() noexcept;

    const CameraPackerConfig config_;
    CameraBuilder& builder_;
    exchange::MfpRing& ring_;
    const Clock& clock_;
    Counters<CameraPackCounter> counters_;
    CameraPart part_;        ///< taken from the builder,
    bool has_part_ = false;  ///< and still to be packed
    bool has_run_ = false;
    std::uint32_t camera_run_id_ = 0;
    std::uint64_t first_mep_ = exchange::MfpRing::never, next_event_ = 0;
    std::optional<wire::mfp::Writer> writer_;  ///< of the MFP that is open
    std::uint64_t mep_ = 0;
    std::uint32_t buffer_ = 0, n_written_ = 0;  ///< fragments, the empty ones too
    bool passed_end_ = false;
    std::atomic<bool> ended_{false}, discarding_{false};
};

}  // namespace anello::camera
