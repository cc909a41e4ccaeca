// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "camera/events/event.hpp"
#include "camera/filter/filter.hpp"
#include "camera/filter/pixel_integrator.hpp"
#include "camera/send/record.hpp"
#include "memory/spsc_ring.hpp"

namespace anello::camera {

/// A kept event on its way from the filter's thread to that of the sender, and back.
struct KeptEvent {
    CameraEventView event;
    Verdict verdict;
    EncodedEvent encoded{};   ///< where events are encoded on the way
    Nanoseconds sent_ns = 0;  ///< wall clock; by the sender
    PixelView pixels{};       ///< of what follows
    std::vector<float> charge{};
    std::vector<std::uint16_t> peak_sample{};
    std::vector<std::uint8_t> flags{};

    /// Copied where there is room for them: the integrator's are good until its next event.
    void lay_down(const PixelView& seen) noexcept;
};

/// Kept events in the order in which they came. The filter's thread calls try_give and try_reclaim, the sender's
/// try_take and give_back. Between the two there may be lanes, each with a thread of its own: event i goes through lane
/// i modulo their number, so that the sender finds all in their order by asking the lanes in turn. Memory is taken in
/// the constructor.
class KeptEvents {
  public:
    /// Behind a lane at most so many wait for the sender.
    static constexpr std::uint32_t most_behind_lane = 8;

    /// n_pixels: 0, where nobody asks for them. n_lanes: 0, where events go straight to the sender.
    KeptEvents(std::uint32_t n_events, std::uint32_t n_pixels, std::uint32_t n_lanes = 0);

    // Hot path, all: no allocation, no lock, no log, no throw.
    /// False: no room now.
    bool try_give(const CameraEventView& event, const PixelView& pixels, const Verdict& verdict) noexcept;
    bool has_given() const noexcept { return has_any(given_); }
    KeptEvent* try_take_in(std::uint32_t lane) noexcept;                    ///< A lane's thread, as the next.
    bool try_hand_on(std::uint32_t lane, const KeptEvent& event) noexcept;  ///< False: no room now.
    KeptEvent* try_take() noexcept;
    void give_back(KeptEvent& event) noexcept;
    /// Of an event that was given back; valid until the next is given.
    const KeptEvent* try_reclaim() noexcept;
    std::size_t n_away() const noexcept { return events_.size() - free_.size(); }  ///< not reclaimed; filter's thread
    bool is_empty() const noexcept { return !has_any(handed_on_.empty() ? given_ : handed_on_); }  ///< for the sender

  private:
    using Ring = memory::SpscRing<std::uint32_t>;
    static bool has_any(const std::deque<Ring>& rings) noexcept {
        return std::ranges::any_of(rings, [](const Ring& ring) { return ring.size() > 0; });
    }
    std::uint32_t number_of(const KeptEvent& event) const noexcept {
        return static_cast<std::uint32_t>(&event - events_.data());
    }

    std::vector<KeptEvent> events_;
    std::deque<Ring> given_, handed_on_;  ///< by lane
    Ring sent_;
    std::vector<std::uint32_t> free_;
    std::uint64_t n_given_ = 0, n_taken_ = 0;  ///< by the filter's thread; by the sender's
};

}  // namespace anello::camera
