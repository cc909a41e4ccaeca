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

/// An event whose pixels are being processed, and the results.
struct SeenEvent {
    /// The results of one lane for its boards.
    struct alignas(64) Share {
        BoardsLeftOut left_out;
        CalibrationTally calibrated;
    };

    CameraEventView event;
    PixelMemory pixels;
    std::vector<Share> shares;  ///< by lane

    PixelView view() const noexcept;
};

/// Processes the pixels of whole events: calibrates them if configured, and integrates. Events come back in the order
/// in which they were given. Each lane processes its own boards of every event, in the order of events, as calibration
/// needs a board's previous reading: results do not depend on the number of threads. The filter's thread calls give,
/// try_take and give_back. The constructor takes all memory.
class CameraPixels {
  public:
    /// Number of events that may be between give() and give_back() if there are threads.
    static constexpr std::uint32_t n_in_flight = 16;

    /// geometry: null if config.integrate is false. page must outlive it. Throws ConfigError.
    CameraPixels(const CameraOutletConfig& config, const CameraGeometry* geometry, CounterPage& page);

    /// The stage pixels, which runs parallel to filter. It must not outlive this object.
    pipeline::Stage stage();
    bool has_threads() const noexcept { return has_threads_; }

    // Hot path, all: no allocation, no lock, no log, no throw.
    bool has_room() const noexcept { return !free_.empty(); }
    /// Takes an event; there must be room. Without threads, this call processes its pixels.
    void give(const CameraEventView& event) noexcept;
    /// Returns the oldest event once all lanes have processed it, else null.
    SeenEvent* try_take() noexcept;
    void give_back(const SeenEvent& seen) noexcept;
    std::size_t n_away() const noexcept { return events_.size() - free_.size(); }  ///< not given back yet

    std::string describe() const;                          ///< For the operator.
    std::vector<store::FileAttribute> attributes() const;  ///< Attributes of files that describe the calibration.

  private:
    struct Lane {
        explicit Lane(BoardRange own, std::size_t n_events) : boards(own), given(n_events), done(n_events) {}
        BoardRange boards;
        memory::SpscRing<std::uint32_t> given, done;
    };
    std::size_t do_work(std::uint32_t lane) noexcept;  ///< Returns the number of events processed.
    void look_at(SeenEvent& seen, std::uint32_t lane) noexcept;

    std::unique_ptr<EventCalibration> calibration_;  ///< null: samples stay as they were sent
    std::unique_ptr<PixelIntegrator> integrator_;    ///< null: samples have no shape
    bool has_threads_;
    std::vector<SeenEvent> events_;
    std::vector<std::uint32_t> free_;
    std::deque<Lane> lanes_;
};

}  // namespace anello::camera
