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

/// The way of a camera event, cut at the stamps that it carries. sent: what was done with it is done; of one that is
/// not kept when that was decided.
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

/// A camera image, copied aside for the display; dropped when nobody takes it.
struct CameraImage {
    std::uint32_t event_number;
    std::uint32_t n_pixels;  ///< at most max_image_pixels
    Verdict verdict;
    std::array<float, max_image_pixels> charge;
};

/// The stage filter: takes whole events, has their pixels looked at, decides in their order, gives what is kept to the
/// sender, and gives the event's memory back when that is done with it. Beside it, where there are threads for that,
/// the stage pixels (CameraPixels).
class CameraSelection {
  public:
    /// events, clock and page must outlive it, and kept; none: nobody wants kept events. Throws ConfigError.
    CameraSelection(const CameraOutletConfig& config, CameraEvents& events, KeptEvents* kept, const Clock& clock,
                    CounterPage& page);

    /// Must not outlive it. Drained once all that the builders gave has been decided, and the sender is done with it.
    pipeline::Stage stage();
    CameraPixels& pixels() noexcept { return *pixels_; }
    /// What files say of how their events were calibrated; nothing where they were not.
    std::vector<store::FileAttribute> attributes() const { return pixels_->attributes(); }
    bool try_take(CameraImage& image) noexcept { return images_->try_take(image); }

  private:
    std::size_t do_work() noexcept;  ///< Events decided, and given back.
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
    std::unique_ptr<CameraFilter> filter_;  ///< none: pixels have no shape
    SeenEvent* decided_ = nullptr;          ///< the one in hand, until the sender has room
    Verdict verdict_;                       ///< of it
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
