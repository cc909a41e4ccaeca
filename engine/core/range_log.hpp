// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anello {

/// Lists ranges of sequence numbers to which something happened, in the order of their reports, and counts those that
/// do not fit. `epoch` distinguishes sequences that restart at 0; the owner defines `cause`.
class RangeLog {
  public:
    struct Range {
        std::uint64_t begin = 0, end = 0;  ///< begin .. end - 1
        std::uint32_t epoch = 0, cause = 0;
    };

    /// Throws std::bad_alloc.
    explicit RangeLog(std::size_t max_ranges) { ranges_.reserve(max_ranges); }

    // Hot path: no allocation (reserved above), no lock, no log, no throw.
    void add(std::uint32_t epoch, std::uint64_t begin, std::uint64_t end, std::uint32_t cause = 0) noexcept {
        if (begin >= end) return;
        if (!ranges_.empty() && continues(ranges_.back(), epoch, begin, cause))
            ranges_.back().end = end;
        else if (ranges_.size() < ranges_.capacity())
            ranges_.push_back({begin, end, epoch, cause});
        else
            n_not_listed_ += end - begin;
    }

    /// Marks the log as incomplete, because a reported range turned out to be wrong.
    void spoil() noexcept { ++n_not_listed_; }

    void clear() noexcept {
        ranges_.clear();
        n_not_listed_ = 0;
    }

    const std::vector<Range>& ranges() const noexcept { return ranges_; }
    std::uint64_t n_not_listed() const noexcept { return n_not_listed_; }

  private:
    static bool continues(const Range& last, std::uint32_t epoch, std::uint64_t begin, std::uint32_t cause) noexcept {
        return last.epoch == epoch && last.end == begin && last.cause == cause;
    }

    std::vector<Range> ranges_;
    std::uint64_t n_not_listed_ = 0;
};

}  // namespace anello
