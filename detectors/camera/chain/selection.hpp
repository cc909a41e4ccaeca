// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "camera/chain/kept_events.hpp"
#include "camera/chain/outlet_config.hpp"
#include "camera/chain/pixels.hpp"
#include "camera/chain/wait_counters.hpp"
#include "camera/events/events.hpp"
#include "camera/filter/filter.hpp"
#include "core/counters/event_slot.hpp"
#include "core/latency/latency_leg.hpp"
#include "core/latency/latency_series.hpp"
#include "memory/spsc_ring.hpp"
#include "pipeline/send_counters.hpp"
#include "pipeline/stage.hpp"

namespace anello::camera {

/// The legs of a camera event's latency, between its stamps. sent: the time when the sender was done with the event, or
/// the time of the decision if the event was not kept.
enum class CameraLeg : std::uint8_t {
    first_to_built,
    built_to_decided,
    built_to_sent,
    first_to_decided,
    first_to_sent,
    count
};

inline constexpr std::array<const char*, static_cast<std::size_t>(CameraLeg::count)> camera_leg_names{
    "first_to_built", "built_to_decided", "built_to_sent", "first_to_decided", "first_to_sent"};

inline constexpr std::uint32_t max_image_pixels = 2048;

/// A copy of a camera image for the display; it is dropped if the display does not take it.
struct CameraImage {
    std::uint32_t event_number;
    std::uint32_t n_pixels;  ///< at most max_image_pixels
    Verdict verdict;
    std::array<float, max_image_pixels> charge;
};

/// The stage filter: takes whole events, has their pixels processed, decides on them in order, gives kept events to the
/// sender, and gives an event's memory back when the sender is done with it. If there are threads for the pixels, the
/// stage pixels (CameraPixels) runs parallel to it.
class CameraSelection {
  public:
    /// events, kept, clock and page must outlive it. kept: null if there is no sender. Throws ConfigError.
    CameraSelection(const CameraOutletConfig& config, CameraEvents& events, KeptEvents* kept, const Clock& clock,
                    CounterPage& page);

    /// The stage must not outlive this object. Drained: all events are decided on, and the sender is done with them.
    pipeline::Stage stage();
    CameraPixels& pixels() noexcept { return *pixels_; }
    /// Attributes of files that describe the calibration; empty without calibration.
    std::vector<store::FileAttribute> attributes() const { return pixels_->attributes(); }
    bool try_take(CameraImage& image) noexcept { return images_->try_take(image); }

  private:
    std::size_t do_work() noexcept;  ///< Returns the number of events decided on and given back.
    Nanoseconds longest_wait_ns() const noexcept;
    std::size_t reclaim() noexcept;
    std::size_t decide_events() noexcept;
    std::string describe() const;
    void add_latency(pipeline::Latencies& latency) const;
    void give_to_pixels() noexcept;
    bool try_decide() noexcept;
    void decide(const SeenEvent& seen) noexcept;
    bool try_hand_on() noexcept;
    void wait_for(CameraWaitCounter what, bool waits) noexcept;
    void record(CameraLeg leg, Nanoseconds from_ns, Nanoseconds to_ns) noexcept;
    void record_sent(const CameraEventView& event, Nanoseconds sent_ns) noexcept;
    void lay_aside(const SeenEvent& seen) noexcept;
    void make_image(const SeenEvent& seen) noexcept;

    CameraOutletConfig config_;
    CameraEvents& events_;
    KeptEvents* kept_;
    const Clock& clock_;
    Counters<pipeline::SendCounter> counters_;
    Counters<CameraWaitCounter> waits_;
    std::array<bool, static_cast<std::size_t>(CameraWaitCounter::count)> is_waiting_{};
    std::unique_ptr<CameraPixels> pixels_;
    std::unique_ptr<CameraFilter> filter_;  ///< null: pixels have no shape
    SeenEvent* decided_ = nullptr;          ///< a decided event that waits for room in the ring to the sender
    Verdict verdict_;                       ///< verdict on decided_
    Nanoseconds decided_ns_ = 0;
    std::array<LatencyLeg*, static_cast<std::size_t>(CameraLeg::count)> latency_;  ///< in the page
    LatencySeries first_to_sent_;
    EventSlot& event_slot_;  ///< in the page
    std::unique_ptr<memory::SpscRing<CameraImage>> images_;
    Nanoseconds image_laid_ns_ = 0;
    CameraImage image_{};  ///< too large for a stack
    std::atomic<bool> draining_{false}, drained_{false};
};

}  // namespace anello::camera
