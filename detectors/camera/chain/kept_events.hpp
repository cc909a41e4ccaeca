// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "camera/events/event.hpp"
#include "camera/filter/filter.hpp"
#include "camera/filter/pixel_integrator.hpp"
#include "memory/spsc_ring.hpp"

namespace anello::camera {

/// A kept event on its way from the filter's thread to that of the sender, and back.
struct KeptEvent {
    CameraEventView event;
    Verdict verdict;
    Nanoseconds sent_ns = 0;  ///< wall clock; by the sender
    PixelView pixels{};       ///< of what follows
    std::vector<float> charge{};
    std::vector<std::uint16_t> peak_sample{};
    std::vector<std::uint8_t> flags{};

    /// Copied where there is room for them: the integrator's are good until its next event.
    void lay_down(const PixelView& seen) noexcept;
};

/// Kept events in the order in which they came, between two threads. The filter's calls give and give_back's
/// counterpart, try_reclaim; the sender's try_take and give_back. Memory is taken in the constructor.
class KeptEvents {
  public:
    /// n_pixels: 0, where nobody asks for them.
    KeptEvents(std::uint32_t n_events, std::uint32_t n_pixels);

    // Hot path, all: no allocation, no lock, no log, no throw.
    /// False: no room now.
    bool try_give(const CameraEventView& event, const PixelView& pixels, const Verdict& verdict) noexcept;
    KeptEvent* try_take() noexcept;
    void give_back(KeptEvent& event) noexcept;
    /// Of an event that was given back; valid until the next is given.
    const KeptEvent* try_reclaim() noexcept;
    std::size_t n_away() const noexcept { return events_.size() - free_.size(); }  ///< not reclaimed; filter's thread
    bool is_empty() const noexcept { return to_send_.size() == 0; }

  private:
    std::vector<KeptEvent> events_;
    memory::SpscRing<std::uint32_t> to_send_, sent_;
    std::vector<std::uint32_t> free_;
};

}  // namespace anello::camera
