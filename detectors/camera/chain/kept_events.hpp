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
    EncodedEvent encoded{};   ///< set if the stage compress encodes
    Nanoseconds sent_ns = 0;  ///< wall clock; the sender sets it
    PixelView pixels{};       ///< spans of the vectors below
    std::vector<float> charge{};
    std::vector<std::uint16_t> peak_sample{};
    std::vector<std::uint8_t> flags{};

    /// Copies the pixels if there is room for them: the integrator's own are valid only until its next event.
    void lay_down(const PixelView& seen) noexcept;
};

/// Passes kept events, in order, from the filter to the sender and back. The filter's thread calls try_give and
/// try_reclaim, the sender's try_take and give_back. Lanes may lie between the two, each with its own thread: event i
/// goes through lane i modulo their number, so that the sender gets the events in order by asking the lanes in turn.
/// The constructor takes all memory.
class KeptEvents {
  public:
    /// At most this number of events wait for the sender after each lane.
    static constexpr std::uint32_t most_behind_lane = 8;

    /// n_pixels: 0 if nothing uses the pixels. n_lanes: 0 if events go straight to the sender.
    KeptEvents(std::uint32_t n_events, std::uint32_t n_pixels, std::uint32_t n_lanes = 0);

    // Hot path, all: no allocation, no lock, no log, no throw.
    /// False: no room now.
    bool try_give(const CameraEventView& event, const PixelView& pixels, const Verdict& verdict) noexcept;
    bool has_given() const noexcept { return has_any(given_); }
    KeptEvent* try_take_in(std::uint32_t lane) noexcept;                    ///< A lane's thread.
    bool try_hand_on(std::uint32_t lane, const KeptEvent& event) noexcept;  ///< A lane's thread. False: no room.
    KeptEvent* try_take() noexcept;
    void give_back(KeptEvent& event) noexcept;
    /// Returns an event that the sender has given back; valid until the next try_give(). Null: there is none.
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
    std::uint64_t n_given_ = 0, n_taken_ = 0;  ///< counted by the filter's thread; by the sender's
};

}  // namespace anello::camera
