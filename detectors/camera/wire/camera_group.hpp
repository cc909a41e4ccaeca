// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.hpp"
#include "wire/verdict.hpp"

/// Camera group: one event's fragments of a group of boards, as they lie in event memory. A readout unit sends it to a
/// builder on another node. Little-endian. docs/reference/camera-group.md specifies every byte.
///
///   header, 64 bytes
///     0  u32 magic "CGR1"          16  u32 run_id
///     4  u8  version = 1           20  u32 event_number
///     5  u8  flags = 0             24  u64 timestamp_ns of the trigger
///     6  u16 first_board           32  i64 first_ns: wall clock, first fragment here
///     8  u16 n_boards, 1 to 1024   40  i64 closed_ns: wall clock, handed on
///    10  u16 n_present             48  u64[2] reserved = 0
///    12  u32 slot_bytes, a multiple of 64
///   then one bit for each board, 1 where it is present, padded with 0 to a multiple of 64 bytes; then one slot for
///   each board: the datagram of a board that is present (docs/reference/camera.md), or nothing that means anything.
namespace anello::wire::camera_group {

inline constexpr std::uint32_t magic = 0x31524743;  // "CGR1" as it stands on the wire
inline constexpr std::uint8_t version = 1;
inline constexpr std::size_t header_bytes = 64;
inline constexpr std::size_t unit = 64;  ///< slots begin at multiples of it
inline constexpr std::uint32_t max_boards = 1024;

struct Header {
    std::uint16_t first_board = 0;
    std::uint16_t n_boards = 0;
    std::uint16_t n_present = 0;
    std::uint32_t slot_bytes = 0;
    std::uint32_t run_id = 0;
    std::uint32_t event_number = 0;
    std::uint64_t timestamp_ns = 0;
    std::int64_t first_ns = 0, closed_ns = 0;

    bool operator==(const Header&) const = default;
};

constexpr std::size_t slots_offset(std::size_t n_boards) noexcept {
    return header_bytes + (n_boards + 8 * unit - 1) / (8 * unit) * unit;
}
constexpr std::size_t group_bytes(std::size_t n_boards, std::size_t slot_bytes) noexcept {
    return slots_offset(n_boards) + n_boards * slot_bytes;
}

/// A group whose header, bits and length are right. The content of the slots is not checked yet.
struct GroupView {
    Header header;
    std::span<const std::byte> bytes;  ///< the whole group

    const std::byte* slots() const noexcept { return bytes.data() + slots_offset(header.n_boards); }
    /// `index` is relative to the group's first board.
    bool has(std::size_t index) const noexcept {
        return (std::to_integer<unsigned>(bytes[header_bytes + index / 8]) >> (index % 8) & 1U) != 0;
    }
    std::span<const std::byte> slot(std::size_t index) const noexcept {
        return {slots() + index * header.slot_bytes, header.slot_bytes};
    }
};

/// All are hot path: no allocation, no lock, no log, no throw.
Verdict parse(std::span<const std::byte> group, GroupView& view) noexcept;
/// Writes the header and marks all boards absent. `group` must have slots_offset() bytes or more.
void write_header(std::span<std::byte> group, const Header& header) noexcept;
/// Call it after write_header(), once for each of the header's n_present boards.
inline void set_present(std::span<std::byte> group, std::size_t index) noexcept {
    group[header_bytes + index / 8] |= std::byte{1} << (index % 8);
}

}  // namespace anello::wire::camera_group
