// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "camera/wire/camera.hpp"
#include "core/clock.hpp"

/// A camera event in event memory. An event buffer has one slot per board, at a fixed place; the slot holds the board's
/// datagram unchanged: header, then waveforms. No stage copies it again unless it needs contiguous data.
namespace anello::camera {

inline constexpr std::uint32_t max_camera_boards = 1024;
inline constexpr std::uint32_t max_camera_groups = 8;

/// Number of boards and room for each fragment, which is the same for all boards of a camera.
struct CameraShape {
    std::uint32_t n_boards = 265;
    std::uint32_t max_payload_bytes = 1680;  ///< includes first cells, if boards may send them

    /// Distance of two slots: a multiple of the cache line; a header is one line long.
    constexpr std::size_t slot_bytes() const noexcept {
        return (wire::camera::header_bytes + max_payload_bytes + 63) / 64 * 64;
    }
    constexpr std::size_t event_bytes() const noexcept { return n_boards * slot_bytes(); }
};

struct BoardRange {
    std::uint32_t first = 0, count = 0;
    bool contains(std::uint32_t board) const noexcept { return board - first < count; }  // below first wraps around
};

/// One bit per board.
class BoardSet {
  public:
    void clear() noexcept { words_ = {}; }
    bool contains(std::uint32_t board) const noexcept { return ((words_[board / 64] >> (board % 64)) & 1) != 0; }
    void add(std::uint32_t board) noexcept { words_[board / 64] |= std::uint64_t{1} << (board % 64); }
    void remove(std::uint32_t board) noexcept { words_[board / 64] &= ~(std::uint64_t{1} << (board % 64)); }
    std::uint32_t count() const noexcept {
        std::uint32_t n = 0;
        for (const std::uint64_t word : words_) n += static_cast<std::uint32_t>(std::popcount(word));
        return n;
    }
    void add_all(const BoardSet& boards) noexcept {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= boards.words_[i];
    }
    bool operator==(const BoardSet&) const = default;

  private:
    std::array<std::uint64_t, max_camera_boards / 64> words_{};
};

/// Finds the value that most fragments of an event carry, one by one (Boyer and Moore, MJRTY, 1981): adds `n` votes for
/// `other`. A minority never wins.
template <typename T, typename Same = std::equal_to<T>>
void vote(T& leading, std::int32_t& votes, T other, std::int32_t n, Same is_same = {}) noexcept {
    if (is_same(leading, other)) {
        votes += n;
    } else if (n > votes) {
        leading = other;
        votes = n - votes;
    } else {
        votes -= n;
    }
}

/// Compares event numbers, which wrap.
constexpr bool is_before(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0;
}

/// True if two times of an event agree: the boards' clocks may differ by a microsecond.
constexpr bool is_same_time(std::uint64_t timestamp_ns, std::uint64_t other_ns) noexcept {
    constexpr std::uint64_t tolerance_ns = 1000;
    return other_ns - timestamp_ns + tolerance_ns <= 2 * tolerance_ns;
}

enum class EventEnd : std::uint8_t {
    complete,    ///< it has the fragment of every board
    timeout,     ///< the fragment of a board did not come in time
    pushed_out,  ///< the window moved past it: boards are farther apart than the window is wide
    run_ended,   ///< its run is over
};

/// An event of one builder (one group of boards). The consumer owns the buffer until it gives it back.
struct CameraPart {
    std::uint32_t run_id = 0;
    std::uint32_t event_number = 0;
    std::uint32_t buffer = 0;
    EventEnd end = EventEnd::complete;
    bool end_of_run = false;   ///< no event, but the end of this group's run; `buffer` is not valid
    bool is_outvoted = false;  ///< with end_of_run: fewer than half of the boards confirmed this run
    std::uint32_t turn = 0;    ///< number of steps back of event numbers before this event
    std::uint16_t n_present = 0;
    std::uint8_t trigger_tag = 0;      ///< tag of most fragments
    std::int32_t tag_votes = 0;        ///< fragments with this tag, minus those with others
    std::int32_t timestamp_votes = 0;  ///< fragments with about this time stamp, minus those with others
    std::uint64_t timestamp_ns = 0;    ///< trigger time of most fragments
    Nanoseconds first_ns = 0;          ///< wall clock, when the first fragment was placed
    Nanoseconds last_ns = 0;           ///< wall clock, when the last fragment was placed
    Nanoseconds closed_ns = 0;         ///< wall clock, when the event was handed on
};

/// A whole event, joined from the groups' parts. It is valid until the consumer gives its buffers back.
struct CameraEventView {
    std::uint32_t run_id = 0;
    std::uint32_t event_number = 0;
    std::uint64_t timestamp_ns = 0;
    std::uint8_t trigger_tag = 0;  ///< bits of wire::camera::TriggerTag, tag of most fragments
    Nanoseconds first_ns = 0, closed_ns = 0;
    CameraShape shape;
    BoardSet present;
    std::uint32_t n_present = 0;
    std::uint32_t boards_per_group = 0;  ///< board / boards_per_group is its group; the last group may be smaller
    std::array<const std::byte*, max_camera_groups> base{};  ///< begin of each group's event buffer; null: it has none

    bool is_complete() const noexcept { return n_present == shape.n_boards; }
    /// The slot of a board's datagram, which begins with the header; only for boards in `present`.
    const std::byte* slot(std::uint32_t board) const noexcept {
        return base[board / boards_per_group] + (board % boards_per_group) * shape.slot_bytes();
    }
    /// For the consumer, which owns the memory until it gives it back.
    std::byte* writable_slot(std::uint32_t board) const noexcept { return const_cast<std::byte*>(slot(board)); }
    const std::byte* payload(std::uint32_t board) const noexcept { return slot(board) + wire::camera::header_bytes; }
};

}  // namespace anello::camera
