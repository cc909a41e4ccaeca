// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "core/clock.hpp"
#include "core/notice.hpp"
#include "receive/datagrams/source_address.hpp"

/// Decides which source may send for a board. docs/decisions/0012-who-speaks-for-a-board.md has rules and reasons.
///
/// A board is bound to the first address that sends a valid datagram of it. Datagrams of this board from other
/// addresses are strangers' datagrams: counted, never used. The binding changes in two cases only: on trial, until a
/// number of valid datagrams came from the bound address, another address that sends more takes over; or the same host
/// sends from another port after the old one was silent for a while. Hosts and ports named in the configuration never
/// change.
namespace anello::receive {

/// The part used for every datagram. One thread writes.
class SourceBinding {
  public:
    static constexpr std::uint32_t trial_datagrams = 1000;

    /// Hot path, both: no allocation, no lock, no log, no throw.
    bool is_bound_to(SourceAddress source) const noexcept { return value() == source.value(); }
    void note_accepted() noexcept { n_heard_ += n_heard_ < trial_datagrams ? 1 : 0; }

    SourceAddress source() const noexcept { return SourceAddress::of_value(value()); }  ///< Any thread.

  private:
    friend class SourceWatch;
    std::uint64_t value() const noexcept { return bound_.load(std::memory_order_relaxed); }  // independent of others
    void bind(SourceAddress source, std::uint32_t n_heard) noexcept {
        bound_.store(source.value(), std::memory_order_relaxed);
        n_heard_ = n_heard;
    }

    std::atomic<std::uint64_t> bound_{0};
    std::uint32_t n_heard_ = 0;  ///< valid datagrams from the source during its trial
};

/// The rest, used only for datagrams from other addresses.
class SourceWatch {
  public:
    /// How long a board must be silent before its host may send for it from another port: longer than a pause between
    /// bursts of data, shorter than a reboot.
    static constexpr Nanoseconds silence_ns = 1'000'000'000;

    enum class Judgement : std::uint8_t {
        used,  ///< the datagram is used, and its source is bound: the first one, or the same host with another port
        taken_over,  ///< the same, and the data of the former address was not the board's
        stranger,
    };

    void expect(SourceAddress expected) noexcept { expected_ = expected; }

    /// Hot path, both, for a datagram from an address that is not bound. heard_ago_ns is the time in which the board's
    /// datagrams were read since its own last one. Returns false for a stranger's datagram, whatever its content.
    bool may_speak(const SourceBinding& binding, SourceAddress source, Nanoseconds heard_ago_ns) noexcept;
    /// is_right: the whole datagram is valid.
    Judgement judge(SourceBinding& binding, SourceAddress source, bool is_right, Nanoseconds heard_ago_ns) noexcept;
    /// The board has ended its run: its next source is on trial again. Hot path.
    static void begin_trial(SourceBinding& binding) noexcept { binding.n_heard_ = 0; }

    /// After a change of source: number of datagrams of the new source that were counted as a stranger's. Returned
    /// once.
    std::uint64_t take_mistaken() noexcept { return std::exchange(n_mistaken_, 0); }

    /// Any thread: the address of the last stranger's datagram.
    SourceAddress stranger() const noexcept {
        return SourceAddress::of_value(stranger_.load(std::memory_order_relaxed));  // no other data depends on it
    }
    /// Any thread: the former address at the last takeover.
    SourceAddress disowned() const noexcept {
        return SourceAddress::of_value(disowned_.load(std::memory_order_relaxed));  // no other data depends on it
    }

  private:
    bool is_expected(SourceAddress source) const noexcept;
    static bool is_back(const SourceBinding& binding, SourceAddress source, Nanoseconds heard_ago_ns) noexcept;
    void note_stranger(SourceAddress source) noexcept;
    void note_bound(SourceAddress source) noexcept;
    bool wins_trial(std::uint32_t n_heard, SourceAddress source) noexcept;

    SourceAddress expected_, challenger_;
    std::uint32_t n_challenges_ = 0;
    std::atomic<std::uint64_t> stranger_{0}, disowned_{0};
    std::uint64_t n_of_stranger_ = 0;  ///< consecutive
    std::uint64_t n_mistaken_ = 0;
};

/// Reports a count that should be 0: at 1, 10, 100, ...
class ThrottledNotice {
  public:
    bool is_due(std::uint64_t n) noexcept {
        if (n < next_) return false;
        next_ = std::max<std::uint64_t>(n, 1) * 10;
        return true;
    }

  private:
    std::uint64_t next_ = 1;
};

/// The source of a board, and other senders.
struct Speakers {
    SourceAddress bound, stranger, disowned;

    static Speakers of(const SourceBinding& binding, const SourceWatch& watch) noexcept {
        return {binding.source(), watch.stranger(), watch.disowned()};
    }
};

/// Reports to the operator other senders for a board, and former sources.
class SpeakerNotices {
  public:
    void look(std::uint32_t board, std::uint64_t n_strangers, const Speakers& speakers, Notices& notices);

  private:
    ThrottledNotice strangers_;
    SourceAddress disowned_;
};

}  // namespace anello::receive
