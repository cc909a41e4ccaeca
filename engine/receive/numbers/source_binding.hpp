// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "core/clock.hpp"
#include "core/notice.hpp"
#include "receive/datagrams/source_address.hpp"

/// Which source may speak for a board: docs/decisions/0012-who-speaks-for-a-board.md has the rules and the reasons.
///
/// A board is bound to the first address that sent a valid datagram of it. Datagrams in its name from elsewhere
/// are a stranger's: counted, never used. The binding changes in two cases only:
///   - on trial, until a number of valid datagrams came from there: another address that sent more takes it over;
///   - the same host comes back from another port, after nothing came from the old one for a while.
/// What the configuration names (host, or host and port) is not up for either.
namespace anello::receive {

/// The part that every datagram touches. One thread writes.
class SourceBinding {
  public:
    static constexpr std::uint32_t trial_datagrams = 1000;

    /// Hot path, both: no allocation, no lock, no log, no throw.
    bool is_bound_to(SourceAddress source) const noexcept { return value() == source.value(); }
    void note_accepted() noexcept { n_heard_ += n_heard_ < trial_datagrams ? 1 : 0; }

    SourceAddress source() const noexcept { return SourceAddress::of_value(value()); }  ///< Any thread.

  private:
    friend class SourceWatch;
    std::uint64_t value() const noexcept { return bound_.load(std::memory_order_relaxed); }  // alone says all
    void bind(SourceAddress source, std::uint32_t n_heard) noexcept {
        bound_.store(source.value(), std::memory_order_relaxed);
        n_heard_ = n_heard;
    }

    std::atomic<std::uint64_t> bound_{0};
    std::uint32_t n_heard_ = 0;  ///< right datagrams from there, while on trial
};

/// The rest: looked at only for a datagram from elsewhere.
class SourceWatch {
  public:
    /// How long a board must have sent nothing before its host may speak for it from another port: longer than a pause
    /// between bursts of data, shorter than a reboot.
    static constexpr Nanoseconds silence_ns = 1'000'000'000;

    enum class Judgement : std::uint8_t {
        used,        ///< it is the board's now: the first one, or come back from another port
        taken_over,  ///< the same, and what came from the former address was not the board's
        stranger,
    };

    void expect(SourceAddress expected) noexcept { expected_ = expected; }

    /// Hot path, both, of a datagram that is not from where the board is bound to. heard_ago_ns: time since the board's
    /// own last one, in which its datagrams were read.
    /// False: a stranger's, whatever it says.
    bool may_speak(const SourceBinding& binding, SourceAddress source, Nanoseconds heard_ago_ns) noexcept;
    /// is_right: all of it parsed.
    Judgement judge(SourceBinding& binding, SourceAddress source, bool is_right, Nanoseconds heard_ago_ns) noexcept;
    /// The board has ended its run: the next source that speaks for it is on trial again. Hot path.
    static void begin_trial(SourceBinding& binding) noexcept { binding.n_heard_ = 0; }

    /// After a change of source: how many datagrams of the new source had been counted as a stranger's. Returned
    /// once.
    std::uint64_t take_mistaken() noexcept { return std::exchange(n_mistaken_, 0); }

    /// Any thread: where the last stranger's datagram came from.
    SourceAddress stranger() const noexcept {
        return SourceAddress::of_value(stranger_.load(std::memory_order_relaxed));  // alone says all
    }
    /// Any thread: which address the board was taken over from last.
    SourceAddress disowned() const noexcept {
        return SourceAddress::of_value(disowned_.load(std::memory_order_relaxed));  // alone says all
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
    std::uint64_t n_of_stranger_ = 0;  ///< one after the other
    std::uint64_t n_mistaken_ = 0;
};

/// Tells the operator of a count that should be 0: when it is not, and again when it is ten times as high.
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

/// Who has spoken for a board.
struct Speakers {
    SourceAddress bound, stranger, disowned;

    static Speakers of(const SourceBinding& binding, const SourceWatch& watch) noexcept {
        return {binding.source(), watch.stranger(), watch.disowned()};
    }
};

/// Tells the operator who else speaks for a board, and who did before it.
class SpeakerNotices {
  public:
    void look(std::uint32_t board, std::uint64_t n_strangers, const Speakers& speakers, Notices& notices);

  private:
    ThrottledNotice strangers_;
    SourceAddress disowned_;
};

}  // namespace anello::receive
