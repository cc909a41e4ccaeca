// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/clock.hpp"

namespace anello::receive {

/// The times, by a board's own clock, of the packets that it sent before and after its last restart. All functions are
/// hot path.
class SendTimes {
  public:
    /// 0: the packet has no time.
    void add(Nanoseconds sent_ns) noexcept {
        if (sent_ns != 0) now_.add(sent_ns);
    }
    void begin_epoch() noexcept {
        before_ = now_;
        now_ = {};
    }
    bool contain(Nanoseconds sent_ns) const noexcept { return now_.contains(sent_ns) || before_.contains(sent_ns); }

  private:
    struct Range {
        static constexpr Nanoseconds longest_way_ns = 10'000'000'000;  ///< delayed packets may be this much older
        Nanoseconds oldest_ns = 0, newest_ns = 0;                      ///< 0: no packet had a time so far

        void add(Nanoseconds sent_ns) noexcept {
            if (oldest_ns == 0 || sent_ns < oldest_ns) oldest_ns = sent_ns;
            newest_ns = std::max(newest_ns, sent_ns);
        }
        /// A packet may have any time; unsigned differences are always defined.
        bool contains(Nanoseconds sent_ns) const noexcept {
            if (oldest_ns == 0) return false;
            const std::uint64_t begin = static_cast<std::uint64_t>(oldest_ns) - std::uint64_t{longest_way_ns};
            return static_cast<std::uint64_t>(sent_ns) - begin <= static_cast<std::uint64_t>(newest_ns) - begin;
        }
    };
    Range now_, before_;
};

}  // namespace anello::receive
