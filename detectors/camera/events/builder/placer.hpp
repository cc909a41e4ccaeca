// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "camera/events/boards/group_boards.hpp"
#include "camera/events/boards/group_votes.hpp"
#include "camera/events/builder/builder_config.hpp"
#include "camera/events/builder/fragment_drops.hpp"
#include "camera/events/builder/silence_watch.hpp"
#include "camera/events/counters.hpp"
#include "camera/events/intake_choice.hpp"
#include "camera/events/window/open_events.hpp"
#include "camera/wire/camera.hpp"
#include "core/counters/counters.hpp"

namespace anello::camera {

/// Puts fragments of the present run into their events, and keeps the events and boards in agreement: an event is
/// handed on when it waits for no more boards, when it has waited for too long, or when the window must move past it.
/// Hot path (all but the constructor): no allocation, no lock, no log, no throw.
class CameraPlacer {
  public:
    using Header = wire::camera::Header;
    using Place = CameraWindow::Place;

    enum class Outcome : std::uint8_t {
        placed,
        dropped,
        ahead,      ///< not used: a little ahead of the window, and fewer than half of the boards have reached it
        elsewhere,  ///< not used: far from the window
    };

    CameraPlacer(const CameraBuilderConfig& config, const CameraIntakeChoice& choice,
                 Counters<CameraBuildCounter> counters, Nanoseconds now_ns, CounterPage& page);

    GroupBoards& boards() noexcept { return boards_; }
    GroupVotes& votes() noexcept { return votes_; }
    OpenEvents& events() noexcept { return events_; }
    FragmentDrops& drops() noexcept { return drops_; }
    const GroupBoards& boards() const noexcept { return boards_; }
    const GroupVotes& votes() const noexcept { return votes_; }
    const OpenEvents& events() const noexcept { return events_; }
    Nanoseconds patience_ns() const noexcept { return silence_.patience_ns(); }

    /// The fragment's sequence number must have been checked.
    Outcome put(const Header& header, std::span<const std::byte> bytes) noexcept;
    /// The board has sent a fragment or a start-of-run marker: events from this number on wait for it.
    void note_seen(std::uint32_t board_index, std::uint32_t number) noexcept;
    void set_wait(std::uint32_t board_index, BoardWait wait) noexcept;
    /// Hands on the events that have waited for a time-out, and marks boards as silent.
    void hand_on_overdue() noexcept;
    /// Discards the open events: fragments that a few boards sent before the others agreed become no event.
    void discard_open(CameraBuildCounter group_counter, CameraBoardCounter board_counter) noexcept;

  private:
    Outcome bring_into_window(const Header& header) noexcept;
    bool open(Place& place, const Header& header) noexcept;
    void fill(Place& place, const Header& header, std::span<const std::byte> bytes) noexcept;
    void note_due(const Place& place) noexcept;
    void push_out_before(std::uint32_t number) noexcept;
    void expire_head() noexcept;
    bool watch_silence(const Place& place) noexcept;

    std::size_t slot_bytes_;
    Nanoseconds timeout_ns_;
    const CameraIntakeChoice& choice_;
    Counters<CameraBuildCounter> counters_;
    GroupBoards boards_;
    OpenEvents events_;
    GroupVotes votes_;
    SilenceWatch silence_;
    FragmentDrops drops_;
};

// Inline: the path of each fragment.
inline CameraPlacer::Outcome CameraPlacer::put(const Header& header, std::span<const std::byte> bytes) noexcept {
    CameraWindow& window = events_.window();
    if (!window.contains(header.event_number) || events_.run().is_over) [[unlikely]]
        if (const Outcome outcome = bring_into_window(header); outcome != Outcome::placed) return outcome;
    Place& place = window.place_of(header.event_number);
    if (place.room != CameraWindow::Room::open && !open(place, header)) [[unlikely]] {
        drops_.drop(header, CameraBuildCounter::fragments_dropped, CameraBoardCounter::dropped);
        return Outcome::dropped;
    }
    if (place.present->contains(header.board)) [[unlikely]] {
        drops_.drop_repeated(header, bytes);
        return Outcome::dropped;
    }
    fill(place, header, bytes);
    return Outcome::placed;
}

}  // namespace anello::camera
