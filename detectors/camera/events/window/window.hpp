// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "camera/events/boards/board.hpp"
#include "camera/events/copy.hpp"
#include "camera/events/event.hpp"
#include "camera/events/window/buffers.hpp"
#include "core/clock.hpp"

namespace anello::camera {

/// The event numbers that can be placed, and which of these events are open. An open event has a buffer from its first
/// fragment until it is removed; a reserved one has a buffer only, so that the kernel can write its first fragments.
/// Hot path (all but the constructor): no allocation, no lock, no log, no throw.
class CameraWindow {
  public:
    enum class Room : std::uint8_t { empty, reserved, open };

    /// A place in the window: event number n has place n mod size().
    struct Place {
        Room room = Room::empty;
        bool copy_passes_cache = false;
        CopyFunction copy = nullptr;
        std::uint16_t n_present = 0;
        std::uint16_t n_waited_for = 0;  ///< boards that it waits for whose fragments are missing
        std::uint16_t quorum = 0;        ///< half of the boards that it waited for when it began
        bool is_due = false;             ///< half of the boards have reached this event
        std::uint32_t number = 0;
        std::uint32_t buffer = 0;
        std::byte* base = nullptr;
        BoardSet* present = nullptr;
        Nanoseconds waits_since_ns = 0;  ///< monotonic: when it became due; until then, when a long wait would end
        Nanoseconds due_after_ns = 0;    ///< monotonic: half of its fragments arrived after this time
        Nanoseconds first_ns = 0, last_ns = 0;
        std::uint64_t timestamp_ns = 0;
        std::int32_t n_doubts = 0;  ///< twice the votes against its time stamp
        std::uint8_t trigger_tag = 0;
        std::int32_t n_tag_doubts = 0;

        bool has(std::uint32_t event_number, std::uint32_t board) const noexcept {
            return room == Room::open && number == event_number && present->contains(board);
        }
        void doubt_time(std::uint64_t other_ns) noexcept;
        void doubt_tag(std::uint8_t other) noexcept;
    };

    /// `size`: number of events, a power of two. The buffers must outlive the window.
    CameraWindow(std::uint32_t size, CameraBuffers& buffers) : size_(size), places_(size), buffers_(buffers) {}

    std::uint32_t size() const noexcept { return size_; }
    std::uint32_t base() const noexcept { return base_; }  ///< the lowest event number that can still be placed
    bool contains(std::uint32_t number) const noexcept { return number - base_ < size_; }
    Place& place_of(std::uint32_t number) noexcept { return places_[number & (size_ - 1)]; }
    const Place& place_of(std::uint32_t number) const noexcept { return places_[number & (size_ - 1)]; }
    std::span<Place> places() noexcept { return places_; }

    bool has_open() const noexcept { return n_open_ > 0; }
    /// The open event with the lowest number; valid if has_open().
    std::uint32_t head() const noexcept { return head_; }
    Place& head_place() noexcept { return place_of(head_); }
    /// True if an event was handed on since the last forget_floor(): the window never begins before it again.
    bool has_floor() const noexcept { return floor_.has_value(); }
    void forget_floor() noexcept { floor_.reset(); }

    /// Moves an empty window; then it may still begin earlier, until an event is removed.
    void begin_at(std::uint32_t number) noexcept;
    /// Begins at this earlier event if that is still possible: the first fragments to arrive need not be of the first
    /// event.
    bool try_begin_earlier(std::uint32_t number) noexcept;
    /// Moves the begin of the window: earlier event numbers can no longer be placed.
    void pass_to(std::uint32_t number) noexcept;

    /// Opens an event of the window at its place; false if there is no free buffer. The caller then sets the rest of
    /// the place and calls enter().
    bool try_open(Place& place, std::uint32_t number) noexcept;
    void enter(Place& place) noexcept;
    /// Takes a buffer for an event that has not begun.
    bool try_reserve(Place& place, std::uint32_t number) noexcept;
    /// Half of the boards have reached this event: its time-out and those of earlier events begin now. input_ns: when
    /// all earlier input had been placed.
    void make_due(std::uint32_t number, Nanoseconds now_ns, Nanoseconds input_ns) noexcept;
    /// The events that wait for this board change.
    void change_wait(std::uint32_t board, BoardWait before, BoardWait after) noexcept;
    /// Removes the head, whose buffer has another owner now.
    void remove_head() noexcept;
    /// Discards an open event and keeps its buffer.
    void discard(Place& place) noexcept;

  private:
    void release_reserved(std::uint32_t first, std::uint32_t n_numbers) noexcept;
    void find_head() noexcept;

    std::uint32_t size_;
    std::uint32_t base_ = 0;
    std::uint32_t head_ = 0;
    std::uint32_t newest_ = 0;  ///< the highest event number opened since the window was placed
    std::uint32_t n_open_ = 0, n_reserved_ = 0;
    std::vector<Place> places_;
    CameraBuffers& buffers_;
    bool is_fresh_ = false;               ///< no event was removed since begin_at(): it may still begin earlier
    std::optional<std::uint32_t> floor_;  ///< all events handed on in this run have lower numbers
};

}  // namespace anello::camera
