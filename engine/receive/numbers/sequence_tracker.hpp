// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "receive/numbers/sequence_log.hpp"

namespace anello::receive {

/// The meaning of a valid packet's sequence number.
enum class Arrival : std::uint8_t {
    in_order,     ///< the next number, or one after a gap
    late,         ///< fills a gap: accepted, out of order
    duplicate,    ///< arrived before
    conflicting,  ///< arrived before, with other content (PacketNumbers only)
    stray,        ///< far from the current sequence, not yet confirmed: must not be used
    restarted,    ///< the source has restarted; this packet is accepted
};

/// Tracks the 32-bit sequence of one source. A bitmap holds the last `window` numbers, so that each is accepted once;
/// numbers passed over that never arrive are lost. A step beyond the window, forward or back, may be a damaged number:
/// the first such packet is a stray, and a second one that continues it moves the sequence there. A lower number then
/// means that the source restarted, a higher one that many packets were lost. Numbers do not show a restart within the
/// first `window` of them; PacketNumbers sees it in their contents.
class SequenceTracker {
  public:
    static constexpr std::uint32_t window = 16384;

    /// Hot path. Accepts a packet with the numbers sequence .. sequence + step - 1.
    Arrival accept(std::uint32_t sequence, std::uint32_t step) noexcept;
    /// Call it before accept(): the source is already running, and earlier numbers are not lost.
    void join(std::uint32_t sequence) noexcept;
    /// Returns what accept() would return, without changing anything.
    Arrival preview(std::uint32_t sequence) const noexcept;
    /// The source announces its next number: missing numbers before it are lost, unless they still arrive. A step
    /// beyond the window counts only when it is announced twice.
    void announce_next(std::uint32_t sequence) noexcept;
    /// The source restarts at 0.
    void restart() noexcept;

    /// Also records each lost number. `log` must outlive the tracker.
    void write_to(SequenceLog& log) noexcept { log_ = &log; }
    /// The end: missing numbers are lost. It may be called again; accept() must not be called after it.
    void close_log() noexcept;

    std::uint64_t n_distinct() const noexcept { return closed_distinct_ + distinct_; }
    /// Numbers passed over that have not arrived.
    std::uint64_t n_lost() const noexcept { return closed_lost_ + (next_ - base_ - distinct_); }
    /// True if no number before next() is missing since the last restart.
    bool is_whole() const noexcept { return next_ - base_ == distinct_; }
    /// Numbers before the first one received, if that was beyond the window: the receiver joined late.
    std::uint64_t n_before_joining() const noexcept { return before_joining_; }
    bool started() const noexcept { return started_; }
    /// True if no packet is known to have been sent since the source began. A number that has wrapped to 0 is another.
    bool is_at_begin() const noexcept { return next_ == origin; }
    std::uint32_t next() const noexcept { return static_cast<std::uint32_t>(next_); }

  private:
    static constexpr std::uint64_t origin = std::uint64_t{1} << 32;  // above 0: earlier numbers exist
    static constexpr std::uint32_t confirm_within = 1024;

    bool seen(std::uint64_t number) const noexcept { return ((bits_[word_of(number)] >> (number & 63)) & 1) != 0; }
    static std::size_t word_of(std::uint64_t number) noexcept { return (number % window) / 64; }
    void start_at(std::uint32_t sequence) noexcept;
    void close_epoch() noexcept;
    void log_epoch() noexcept;
    void log_missing(std::uint64_t begin, std::uint64_t end) noexcept;
    void log_missing_of_window() noexcept;
    void advance_to(std::uint64_t number) noexcept;
    std::uint32_t mark(std::uint64_t number, std::uint32_t step) noexcept;
    Arrival accept_near(std::int32_t distance, std::uint32_t step) noexcept;
    Arrival accept_far(std::uint32_t sequence, std::uint32_t step) noexcept;
    std::int32_t distance_to(std::uint32_t sequence) const noexcept {
        return static_cast<std::int32_t>(sequence - next());
    }
    static bool is_near(std::int32_t distance) noexcept {
        return distance < static_cast<std::int32_t>(window) && distance >= -static_cast<std::int32_t>(window);
    }

    std::array<std::uint64_t, window / 64> bits_{};  ///< bit of each number from next_ - window to next_ - 1
    std::uint64_t base_ = origin, next_ = origin;    ///< this epoch expects base_ .. next_ - 1
    std::uint64_t distinct_ = 0, closed_distinct_ = 0, closed_lost_ = 0, before_joining_ = 0;
    SequenceLog* log_ = nullptr;
    std::uint32_t epoch_ = 0;
    std::uint32_t stray_next_ = 0, announced_far_ = 0;
    bool started_ = false, has_stray_ = false, has_announced_far_ = false;
};

}  // namespace anello::receive
