// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "rich/geometry.hpp"
#include "rich/source/event_sample.hpp"
#include "rich/source/source_format.hpp"

namespace anello::rich {

/// The events of a sample, split into the boards' fragments and encoded once, in the order of sending: the hot path
/// only copies them and sets times. It is immutable after construction; threads may share it.
class EventPool {
  public:
    /// Number of bytes that may be read beyond any fragment, so that it can be copied in whole blocks.
    static constexpr std::size_t slack_bytes = 32;

    struct Fragment {
        const std::byte* bytes;  ///< one mgp event
        std::uint32_t n_bytes;
        std::uint32_t n_hits;
    };
    /// A hit for formats that are encoded while sending, because their hits have absolute times.
    struct AbsoluteHit {
        std::uint16_t readout_channel;
        std::int16_t time_fine;  ///< relative to the event's time
    };

    /// hit_times selects 16-bit mgp hits. Throws ConfigError for an empty sample.
    EventPool(const EventSample& sample, Format format, bool hit_times);

    std::uint32_t n_events() const noexcept { return n_events_; }
    Format format() const noexcept { return format_; }
    bool hit_times() const noexcept { return hit_times_; }
    std::size_t n_bytes() const noexcept { return bytes_.size() + hits_.size() * sizeof(AbsoluteHit); }
    /// Size of the largest fragment.
    std::size_t max_fragment_bytes() const noexcept { return max_fragment_bytes_; }

    // Hot path: no allocation, no lock, no log, no throw.
    Fragment fragment(std::uint32_t event, std::uint32_t board) const noexcept {
        const Entry& entry = entries_[std::size_t{event} * n_boards + board];
        return {bytes_.data() + entry.begin, entry.n_bytes, entry.n_hits};
    }
    std::span<const AbsoluteHit> absolute_hits(std::uint32_t event, std::uint32_t board) const noexcept {
        const Entry& entry = entries_[std::size_t{event} * n_boards + board];
        return std::span(hits_).subspan(entry.begin, entry.n_hits);
    }

  private:
    struct Entry {
        std::uint32_t begin;  ///< index in bytes_ (mgp) or hits_ (mep)
        std::uint16_t n_bytes;
        std::uint16_t n_hits;
    };
    void add_mgp(std::span<const SampleHit> hits);
    void add_mep(std::span<const SampleHit> hits);

    std::uint32_t n_events_;
    Format format_;
    bool hit_times_;
    std::size_t max_fragment_bytes_ = 0;
    std::vector<Entry> entries_;  // [n_events * n_boards]
    std::vector<std::byte> bytes_;
    std::vector<AbsoluteHit> hits_;
};

/// Copies in blocks of 32 bytes: reads and writes up to 31 bytes beyond n_bytes.
/// PERF NOTE: fragments have 6 to 30 bytes; one block without a loop or call halves the time (source_bench, encode).
inline void copy_with_slack(std::byte* to, const std::byte* from, std::size_t n_bytes) noexcept {
    std::size_t done = 0;
    do {
        std::memcpy(to + done, from + done, 32);
        done += 32;
    } while (done < n_bytes);
}

}  // namespace anello::rich
