// SPDX-License-Identifier: Apache-2.0
#include "camera/wire/camera.hpp"

#include <cstring>

#include "core/assert.hpp"
#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"

namespace anello::wire::camera {
namespace {

constexpr std::size_t checksum_offset = 20, counters_offset = 40;
static_assert(counters_offset + counters_bytes == header_bytes);

void read_header(const std::byte* at, Header& header) noexcept {
    header.flags = static_cast<std::uint8_t>(at[5]);
    header.board = load_le<std::uint16_t>(at + 6);
    header.run_id = load_le<std::uint32_t>(at + 8);
    header.event_number = load_le<std::uint32_t>(at + 12);
    header.sequence = load_le<std::uint32_t>(at + 16);
    header.checksum = load_le<std::uint32_t>(at + checksum_offset);
    header.timestamp_ns = load_le<std::uint64_t>(at + 24);
    header.n_samples = load_le<std::uint16_t>(at + 32);
    header.n_pixels = static_cast<std::uint8_t>(at[34]);
    header.n_gains = static_cast<std::uint8_t>(at[35]);
    header.counters_kind = static_cast<CountersKind>(at[36]);
    header.trigger_tag = static_cast<std::uint8_t>(at[37]);
    header.payload_bytes = load_le<std::uint16_t>(at + 38);
    std::memcpy(header.counters.data(), at + counters_offset, counters_bytes);
}

void write_header(std::byte* at, const Header& header) noexcept {
    store_le(at, magic);
    at[4] = std::byte{version};
    at[5] = std::byte{header.flags};
    store_le(at + 6, header.board);
    store_le(at + 8, header.run_id);
    store_le(at + 12, header.event_number);
    store_le(at + 16, header.sequence);
    store_le(at + checksum_offset, std::uint32_t{0});
    store_le(at + 24, header.timestamp_ns);
    store_le(at + 32, header.n_samples);
    at[34] = std::byte{header.n_pixels};
    at[35] = std::byte{header.n_gains};
    at[36] = static_cast<std::byte>(header.counters_kind);
    at[37] = std::byte{header.trigger_tag};
    store_le(at + 38, header.payload_bytes);
    std::memcpy(at + counters_offset, header.counters.data(), counters_bytes);
}

std::uint32_t checksum_of(std::span<const std::byte> datagram) noexcept {
    constexpr std::byte zero[4] = {};
    std::uint32_t crc = crc32c(datagram.first(checksum_offset));
    crc = crc32c(zero, crc);
    return crc32c(datagram.subspan(checksum_offset + sizeof zero), crc);
}

/// A fragment with selected gains has one gain, and a bit of low_gain() only for pixels that exist.
bool has_right_gains(const Header& header) noexcept {
    return header.n_gains == 1 && header.n_samples > 0 && header.n_pixels <= most_selected_pixels &&
           header.low_gain() >> header.n_pixels == 0;
}

/// A marker must have a checksum, because nothing else confirms its numbers.
bool has_right_flags(const Header& header) noexcept {
    constexpr std::uint8_t both_ends = start_of_run | end_of_run;
    if ((header.flags & ~known_flags) != 0 || (header.trigger_tag & ~known_tags) != 0) return false;
    if (!header.is_marker()) return (header.flags & gain_selected) == 0 || has_right_gains(header);
    return (header.flags & both_ends) != both_ends && (header.flags & with_checksum) != 0 && header.trigger_tag == 0 &&
           (header.flags & gain_selected) == 0;
}

bool has_right_length(const Header& header, std::size_t datagram_bytes) noexcept {
    if (header_bytes + header.payload_bytes != datagram_bytes || header.payload_bytes > max_payload_bytes) return false;
    if (header.is_marker()) return header.payload_bytes == totals_bytes && header.n_samples == 0;
    const std::uint64_t n_values = std::uint64_t{header.n_gains} * header.n_pixels * header.n_samples;
    const std::uint64_t waveforms = n_values * sizeof(std::uint16_t);
    if (header.has_first_cells())
        return n_values > 0 && header.n_pixels == drs4_pixels && waveforms + first_cells_bytes == header.payload_bytes;
    return header.n_samples == 0 || waveforms == header.payload_bytes;
}

/// The bits above a cell's number are reserved.
bool are_right(const FirstCells& cells) noexcept {
    std::uint32_t bits = 0;
    for (const std::uint16_t cell : cells) bits |= cell;
    return bits < drs4_cells;
}

}  // namespace

std::uint16_t Header::low_gain() const noexcept {
    return load_le<std::uint16_t>(counters.data() + low_gain_offset - counters_offset);
}

Verdict parse(std::span<const std::byte> datagram, Header& header) noexcept {
    if (datagram.size() < header_bytes) return Verdict::too_short;
    const std::byte* at = datagram.data();
    if (load_le<std::uint32_t>(at) != magic) return Verdict::wrong_magic;
    if (static_cast<std::uint8_t>(at[4]) != version) return Verdict::wrong_version;
    read_header(at, header);
    if (!has_right_flags(header)) return Verdict::wrong_flags;
    if (header.counters_kind >= CountersKind::count) return Verdict::wrong_version;
    if (!has_right_length(header, datagram.size())) return Verdict::wrong_length;
    if (header.has_first_cells() && !are_right(read_first_cells(datagram))) return Verdict::wrong_flags;
    const bool flagged = (header.flags & with_checksum) != 0;
    return flagged || header.checksum == 0 ? Verdict::ok : Verdict::wrong_checksum;
}

Verdict verify(std::span<const std::byte> datagram, const Header& header) noexcept {
    if ((header.flags & with_checksum) == 0) return Verdict::ok;
    return checksum_of(datagram) == header.checksum ? Verdict::ok : Verdict::wrong_checksum;
}

FirstCells read_first_cells(std::span<const std::byte> payload) noexcept {
    ANELLO_ASSERT(payload.size() >= first_cells_bytes);
    const std::byte* const at = payload.data() + payload.size() - first_cells_bytes;
    FirstCells cells;
    for (std::size_t chip = 0; chip < drs4_chips; ++chip) cells[chip] = load_le<std::uint16_t>(at + 2 * chip);
    return cells;
}

void write_first_cells(std::span<std::byte> payload, const FirstCells& cells) noexcept {
    ANELLO_ASSERT(payload.size() >= first_cells_bytes);
    std::byte* const at = payload.data() + payload.size() - first_cells_bytes;
    for (std::size_t chip = 0; chip < drs4_chips; ++chip) store_le(at + 2 * chip, cells[chip]);
}

Totals parse_totals(std::span<const std::byte> datagram) noexcept {
    ANELLO_ASSERT(datagram.size() == header_bytes + totals_bytes);
    const std::byte* at = datagram.data() + header_bytes;
    return {.n_fragments = load_le<std::uint64_t>(at),
            .n_bytes = load_le<std::uint64_t>(at + 8),
            .first_event = load_le<std::uint32_t>(at + 16),
            .next_event = load_le<std::uint32_t>(at + 20)};
}

std::size_t seal(std::span<std::byte> datagram, const Header& header) noexcept {
    const std::size_t length = header_bytes + header.payload_bytes;
    ANELLO_ASSERT(length <= datagram.size());
    write_header(datagram.data(), header);
    if ((header.flags & with_checksum) != 0)
        store_le(datagram.data() + checksum_offset, checksum_of(datagram.first(length)));
    return length;
}

std::size_t seal(std::span<std::byte> datagram, const Header& header, std::uint32_t payload_crc,
                 const Crc32cJoin& join) noexcept {
    const std::size_t length = header_bytes + header.payload_bytes;
    ANELLO_ASSERT(length <= datagram.size());
    write_header(datagram.data(), header);
    if ((header.flags & with_checksum) != 0)
        store_le(datagram.data() + checksum_offset, join(crc32c(datagram.first(header_bytes)), payload_crc));
    return length;
}

std::size_t write_marker(std::span<std::byte> datagram, Header header, const Totals& totals) noexcept {
    ANELLO_ASSERT(header.is_marker() && datagram.size() >= header_bytes + totals_bytes);
    header.flags |= with_checksum;
    header.n_samples = 0;
    header.n_pixels = header.n_gains = 0;
    header.trigger_tag = 0;
    header.payload_bytes = totals_bytes;
    std::byte* at = datagram.data() + header_bytes;
    store_le(at, totals.n_fragments);
    store_le(at + 8, totals.n_bytes);
    store_le(at + 16, totals.first_event);
    store_le(at + 20, totals.next_event);
    return seal(datagram, header);
}

std::size_t datagram_bytes(std::span<const std::byte> bytes) noexcept {
    constexpr std::size_t payload_at = 38;
    if (bytes.size() < header_bytes || load_le<std::uint32_t>(bytes.data()) != magic) return 0;
    return header_bytes + load_le<std::uint16_t>(bytes.data() + payload_at);
}

}  // namespace anello::wire::camera
