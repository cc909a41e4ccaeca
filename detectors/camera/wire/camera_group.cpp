// SPDX-License-Identifier: Apache-2.0
#include "camera/wire/camera_group.hpp"

#include <bit>
#include <cstring>

#include "core/assert.hpp"

namespace anello::wire::camera_group {
namespace {

constexpr std::size_t reserved_offset = 48;

void read_header(const std::byte* at, Header& header) noexcept {
    header = {.first_board = load_le<std::uint16_t>(at + 6),
              .n_boards = load_le<std::uint16_t>(at + 8),
              .n_present = load_le<std::uint16_t>(at + 10),
              .slot_bytes = load_le<std::uint32_t>(at + 12),
              .run_id = load_le<std::uint32_t>(at + 16),
              .event_number = load_le<std::uint32_t>(at + 20),
              .timestamp_ns = load_le<std::uint64_t>(at + 24),
              .first_ns = static_cast<std::int64_t>(load_le<std::uint64_t>(at + 32)),
              .closed_ns = static_cast<std::int64_t>(load_le<std::uint64_t>(at + 40))};
}

bool has_reserved(const std::byte* at) noexcept {
    return at[5] != std::byte{0} || load_le<std::uint64_t>(at + reserved_offset) != 0 ||
           load_le<std::uint64_t>(at + reserved_offset + 8) != 0;
}

/// Bits after the last board's must be 0, and as many others must be 1 as the header announces.
bool has_right_bits(const GroupView& view) noexcept {
    const std::size_t n_boards = view.header.n_boards;
    const std::span<const std::byte> bits = view.bytes.subspan(header_bytes, slots_offset(n_boards) - header_bytes);
    std::uint32_t n_present = 0;
    for (std::size_t i = 0; i < bits.size(); ++i) {
        const auto byte = std::to_integer<std::uint8_t>(bits[i]);
        const std::size_t n_used = 8 * i >= n_boards ? 0 : n_boards - 8 * i;
        if (n_used < 8 && byte >> n_used != 0) return false;
        n_present += static_cast<std::uint32_t>(std::popcount(byte));
    }
    return n_present == view.header.n_present;
}

}  // namespace

Verdict parse(std::span<const std::byte> group, GroupView& view) noexcept {
    if (group.size() < header_bytes) return Verdict::too_short;
    const std::byte* at = group.data();
    if (load_le<std::uint32_t>(at) != magic) return Verdict::wrong_magic;
    if (static_cast<std::uint8_t>(at[4]) != version) return Verdict::wrong_version;
    if (has_reserved(at)) return Verdict::wrong_flags;
    read_header(at, view.header);
    const Header& header = view.header;
    if (header.n_boards == 0 || header.n_boards > max_boards || header.slot_bytes % unit != 0)
        return Verdict::unknown_source;
    if (group_bytes(header.n_boards, header.slot_bytes) != group.size()) return Verdict::wrong_length;
    view.bytes = group;
    return has_right_bits(view) ? Verdict::ok : Verdict::wrong_event_count;
}

void write_header(std::span<std::byte> group, const Header& header) noexcept {
    ANELLO_ASSERT(group.size() >= slots_offset(header.n_boards));
    std::byte* at = group.data();
    std::memset(at, 0, slots_offset(header.n_boards));
    store_le(at, magic);
    at[4] = std::byte{version};
    store_le(at + 6, header.first_board);
    store_le(at + 8, header.n_boards);
    store_le(at + 10, header.n_present);
    store_le(at + 12, header.slot_bytes);
    store_le(at + 16, header.run_id);
    store_le(at + 20, header.event_number);
    store_le(at + 24, header.timestamp_ns);
    store_le(at + 32, static_cast<std::uint64_t>(header.first_ns));
    store_le(at + 40, static_cast<std::uint64_t>(header.closed_ns));
}

}  // namespace anello::wire::camera_group
