// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.hpp"

/// A time frame of the RICH as a fragment of an MFP: the hits of some boards in this frame, in order of time.
/// Little-endian.
/// Specified in docs/reference/rich-frame.md. Records follow one another to the fragment's end:
///
///     0  u32 timestamp_ticks since the start of the burst
///     4  u8  fine_time
///     5  u8  board
///     6  u16 n_hits
///     8  u32 sent_ns, 12 u32 kernel_ns: low halves of wall-clock stamps; 0 = not known
///    16  u16 hit_id[n_hits], then i16 hit_time_fine[n_hits]
///
/// A record of origin_board has no hits and holds the time of timestamp 0 of the burst: a whole wall-clock time, at 8.
namespace anello::wire::rich_frame {

inline constexpr std::size_t record_header_bytes = 16;
inline constexpr std::uint8_t origin_board = 0xff;

struct Record {
    std::uint32_t timestamp_ticks = 0;
    std::uint8_t fine_time = 0, board = 0;
    std::uint16_t n_hits = 0;
    std::int64_t sent_ns = 0, kernel_ns = 0;   ///< wall clock; 0 = not known
    const std::byte* hit_id = nullptr;         ///< u16[n_hits], little-endian, at an even address
    const std::byte* hit_time_fine = nullptr;  ///< i16[n_hits], the same
};

constexpr std::size_t record_bytes(std::size_t n_hits) noexcept {
    return record_header_bytes + 4 * n_hits;
}

/// The low half of a stamp, as sent.
constexpr std::uint32_t low_half(std::int64_t stamp_ns) noexcept {
    const auto low = static_cast<std::uint32_t>(stamp_ns);
    return stamp_ns != 0 && low == 0 ? 1 : low;
}
/// The latest stamp at or before `until_ns` with this low half; right for stamps of the last 4.29 s.
constexpr std::int64_t whole_stamp(std::uint32_t low, std::int64_t until_ns) noexcept {
    const auto until = static_cast<std::uint64_t>(until_ns);  // may have any value, since it comes from another node
    return low == 0 ? 0 : static_cast<std::int64_t>(until - (static_cast<std::uint32_t>(until) - low));
}

/// The record with the time of timestamp 0.
constexpr Record origin_record(std::int64_t wall_ns) noexcept {
    return {.board = origin_board, .sent_ns = static_cast<std::uint32_t>(wall_ns), .kernel_ns = wall_ns >> 32};
}
constexpr bool is_origin(const Record& record) noexcept {
    return record.board == origin_board && record.n_hits == 0;
}
constexpr std::int64_t origin_of(const Record& record) noexcept {
    return static_cast<std::int64_t>(std::uint64_t{low_half(record.kernel_ns)} << 32 | low_half(record.sent_ns));
}

/// Writes record_bytes(record.n_hits) to `to`. Hot path: no allocation, no lock, no log, no throw.
void write(const Record& record, std::byte* to) noexcept;

/// Reads one record after another of a fragment with any content. Hot path: no allocation, no lock, no log, no throw.
class Reader {
  public:
    /// ready_ns: time stamp of the MFP, which completes the records' half stamps.
    Reader(std::span<const std::byte> fragment, std::int64_t ready_ns) noexcept
        : left_(fragment), ready_ns_(ready_ns) {}
    /// Returns false at the end, or if the rest is not a valid record.
    bool next(Record& record) noexcept;
    /// The bytes after the last valid record.
    std::size_t n_bytes_left() const noexcept { return left_.size(); }

  private:
    std::span<const std::byte> left_;
    std::int64_t ready_ns_;
};

}  // namespace anello::wire::rich_frame
