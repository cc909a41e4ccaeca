// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "camera/events/builder/builder_config.hpp"
#include "camera/events/events.hpp"
#include "camera/farm/farm_counters.hpp"
#include "camera/wire/camera_group.hpp"
#include "core/counters/counters.hpp"
#include "exchange/mep_reader.hpp"
#include "memory/spsc_ring.hpp"

namespace anello::camera {

struct CameraUnpackerConfig {
    std::uint32_t n_slots = 20;  ///< slots of the builder
    std::uint32_t n_readouts = 1;
    CameraShape shape;  ///< the whole camera; readout unit r has the boards of group r of n_readouts
};

/// Finds the camera events in the multi-event packets of one builder: the groups of all readout units together, where
/// they are in the builder's slots. It checks the header of each group and fragment, and leaves out and counts wrong
/// ones. The builder's thread calls the first part, the events' consumer the second.
class CameraUnpacker final : public CameraEvents {
  public:
    /// Counters are added as "unpack". Throws ConfigError.
    CameraUnpacker(const CameraUnpackerConfig& config, CounterPage& page);

    bool try_take_mep(const exchange::MepView& mep) noexcept { return meps_.try_give(mep); }
    bool try_give_back(std::uint32_t& slot) noexcept { return done_.try_take(slot); }

    bool try_take(CameraEventView& view) noexcept override;
    void release(const CameraEventView& view) noexcept override;
    bool is_empty() const noexcept override { return !has_mep_ && meps_.size() == 0; }

    const Counters<CameraUnpackCounter>& counters() const noexcept { return counters_; }

  private:
    bool try_open() noexcept;
    void close_if_done() noexcept;
    bool join(CameraEventView& view) noexcept;
    exchange::UnpackCounter add(std::uint32_t readout, std::span<const std::byte> part, CameraEventView& view) noexcept;
    bool is_of(const wire::camera_group::Header& group, const BoardRange& boards,
               const CameraEventView& view) const noexcept;
    void add_boards(const wire::camera_group::GroupView& group, CameraEventView& view) noexcept;

    const CameraUnpackerConfig config_;
    const std::uint32_t boards_per_group_;
    Counters<CameraUnpackCounter> counters_;
    memory::SpscRing<exchange::MepView> meps_;
    memory::SpscRing<std::uint32_t> done_;
    std::array<BoardRange, max_camera_groups> boards_of_;  ///< by readout unit
    exchange::MepReader reader_;                           ///< reader of the open packet, if has_mep_
    bool has_mep_ = false;
    std::uint32_t n_lent_ = 0;
    std::int32_t tag_votes_ = 0;  ///< votes of the event that is being joined
};

}  // namespace anello::camera
