// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "camera/calibrate/event_calibration.hpp"
#include "camera/chain/outlet_config.hpp"
#include "camera/events/event.hpp"
#include "camera/filter/pixel_integrator.hpp"
#include "camera/geometry.hpp"
#include "core/counters/counters.hpp"
#include "memory/spsc_ring.hpp"
#include "pipeline/stage.hpp"

namespace anello::camera {

/// An event whose pixels are looked at, and what was found.
struct SeenEvent {
    /// What one lane found in its boards.
    struct alignas(64) Share {
        BoardsLeftOut left_out;
        CalibrationTally calibrated;
    };

    CameraEventView event;
    PixelMemory pixels;
    std::vector<Share> shares;  ///< by lane

    PixelView view() const noexcept;
};

/// The look at the pixels of whole events: calibrates them where that is wanted, and integrates. Events come back in
/// the order in which they were given. Each lane has boards of its own, of every event, so that what calibration
/// remembers of a board's last reading is met in the order of events, whatever the number of threads: so are results.
/// The filter's thread calls try_give, try_take and give_back. Memory is taken in the constructor.
class CameraPixels {
  public:
    /// Events that may be between try_give and give_back where threads look at them.
    static constexpr std::uint32_t n_in_flight = 16;

    /// geometry: null where config integrates nothing. page must outlive it. Throws ConfigError.
    CameraPixels(const CameraOutletConfig& config, const CameraGeometry* geometry, CounterPage& page);

    /// The stage pixels, aside of filter; it must not outlive this.
    pipeline::Stage stage();
    bool has_threads() const noexcept { return has_threads_; }

    // Hot path, all: no allocation, no lock, no log, no throw.
    bool has_room() const noexcept { return !free_.empty(); }
    /// Without threads it is looked at here. Only where there is room.
    void give(const CameraEventView& event) noexcept;
    /// The oldest of those that all lanes are done with.
    SeenEvent* try_take() noexcept;
    void give_back(const SeenEvent& seen) noexcept;
    std::size_t n_away() const noexcept { return events_.size() - free_.size(); }  ///< not given back

    std::string describe() const;                          ///< For the operator.
    std::vector<store::FileAttribute> attributes() const;  ///< What files say of how their events were calibrated.

  private:
    struct Lane {
        explicit Lane(BoardRange own, std::size_t n_events) : boards(own), given(n_events), done(n_events) {}
        BoardRange boards;
        memory::SpscRing<std::uint32_t> given, done;
    };
    std::size_t do_work(std::uint32_t lane) noexcept;  ///< Events looked at.
    void look_at(SeenEvent& seen, std::uint32_t lane) noexcept;

    std::unique_ptr<EventCalibration> calibration_;  ///< none: samples stay as they were sent
    std::unique_ptr<PixelIntegrator> integrator_;    ///< none: samples have no shape
    bool has_threads_;
    std::vector<SeenEvent> events_;
    std::vector<std::uint32_t> free_;
    std::deque<Lane> lanes_;
};

}  // namespace anello::camera
