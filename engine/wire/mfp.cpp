// SPDX-License-Identifier: Apache-2.0
#include "wire/mfp.hpp"

#include <cstring>
#include <type_traits>

#include "core/assert.hpp"

namespace anello::wire::mfp {
namespace {

constexpr std::size_t checksum_offset = 20, first_event_offset = 24, ready_offset = 32, reserved_offset = 40;

void read_header(const std::byte* at, Header& header) noexcept {
    header = {.flags = static_cast<std::uint8_t>(at[5]),
              .alignment_log2 = static_cast<std::uint8_t>(at[6]),
              .source_id = load_le<std::uint16_t>(at + 8),
              .n_fragments = load_le<std::uint16_t>(at + 10),
              .run_id = load_le<std::uint32_t>(at + 12),
              .length_bytes = load_le<std::uint32_t>(at + 16),
              .checksum = load_le<std::uint32_t>(at + checksum_offset),
              .first_event = load_le<std::uint64_t>(at + first_event_offset),
              .ready_ns = static_cast<std::int64_t>(load_le<std::uint64_t>(at + ready_offset))};
}

void write_header(std::byte* at, const Header& header) noexcept {
    store_le(at, magic);
    at[4] = std::byte{version};
    at[5] = std::byte{header.flags};
    at[6] = std::byte{header.alignment_log2};
    at[7] = std::byte{0};
    store_le(at + 8, header.source_id);
    store_le(at + 10, header.n_fragments);
    store_le(at + 12, header.run_id);
    store_le(at + 16, header.length_bytes);
    store_le(at + checksum_offset, std::uint32_t{0});
    store_le(at + first_event_offset, header.first_event);
    store_le(at + ready_offset, static_cast<std::uint64_t>(header.ready_ns));
    store_le(at + reserved_offset, std::uint64_t{0});
}

/// Checksum of header and tables; the checksum field itself counts as 0.
std::uint32_t checksum_of(std::span<const std::byte> packet, const Header& header) noexcept {
    constexpr std::byte zero[4] = {};
    std::uint32_t crc = crc32c(packet.first(checksum_offset));
    crc = crc32c(zero, crc);
    const std::size_t end = tables_end(header.n_fragments, header.flags);
    return crc32c(packet.subspan(checksum_offset + sizeof zero, end - checksum_offset - sizeof zero), crc);
}

/// Cannot overflow: at most 65535 fragments of 4 GiB, each rounded up to 4 kB.
template <typename Size>
std::uint64_t sum_of(const std::byte* sizes, std::size_t n_fragments, std::size_t unit) noexcept {
    using Wide = std::conditional_t<sizeof(Size) == 2, std::uint32_t, std::uint64_t>;
    const Wide mask = static_cast<Wide>(unit - 1);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < n_fragments; ++i) sum += (Wide{load_le<Size>(sizes + sizeof(Size) * i)} + mask) & ~mask;
    return sum;
}

/// Size of the first fragments, including their padding.
std::uint64_t bytes_of_fragments(const std::byte* packet, const Header& header, std::size_t n_fragments) noexcept {
    const std::byte* sizes = packet + header_bytes;
    const std::size_t unit = std::size_t{1} << header.alignment_log2;
    return header.has_long_fragments() ? sum_of<std::uint32_t>(sizes, n_fragments, unit)
                                       : sum_of<std::uint16_t>(sizes, n_fragments, unit);
}

/// Offset of the first fragment.
std::size_t fragments_offset(const Header& header) noexcept {
    return round_up(tables_end(header.n_fragments, header.flags), std::size_t{1} << header.alignment_log2);
}

bool is_zero(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes)
        if (byte != std::byte{0}) return false;
    return true;
}

Verdict check_fields(const std::byte* at, const Header& header) noexcept {
    const bool reserved = at[7] != std::byte{0} || load_le<std::uint64_t>(at + reserved_offset) != 0;
    if ((header.flags & ~known_flags) != 0 || header.alignment_log2 > max_alignment_log2 || reserved)
        return Verdict::wrong_flags;
    return header.n_fragments > 0 ? Verdict::ok : Verdict::wrong_event_count;
}

}  // namespace

Verdict parse_header(std::span<const std::byte> packet, Header& header) noexcept {
    if (packet.size() < header_bytes) return Verdict::too_short;
    const std::byte* at = packet.data();
    if (load_le<std::uint32_t>(at) != magic) return Verdict::wrong_magic;
    if (static_cast<std::uint8_t>(at[4]) != version) return Verdict::wrong_version;
    read_header(at, header);
    if (const Verdict verdict = check_fields(at, header); verdict != Verdict::ok) return verdict;
    return header.length_bytes != packet.size() ? Verdict::wrong_length : Verdict::ok;
}

Verdict parse(std::span<const std::byte> packet, PacketView& view) noexcept {
    if (const Verdict verdict = parse_header(packet, view.header); verdict != Verdict::ok) return verdict;
    const Header& header = view.header;
    const std::byte* at = packet.data();
    const std::size_t n = header.n_fragments;
    if (tables_end(n, header.flags) > packet.size()) return Verdict::event_truncated;
    if (checksum_of(packet, header) != header.checksum) return Verdict::wrong_checksum;
    const std::uint64_t length = fragments_offset(header) + bytes_of_fragments(at, header, n);
    if (length != packet.size()) return length > packet.size() ? Verdict::event_truncated : Verdict::wrong_length;
    if (!header.has_checksums() && !is_zero(packet.subspan(checksums_offset(n, header.flags), 4 * n)))
        return Verdict::wrong_flags;
    view.bytes = packet;
    return Verdict::ok;
}

FragmentReader::FragmentReader(const PacketView& view, std::size_t first) noexcept : view_(&view), index_(first) {
    ANELLO_ASSERT(first <= view.header.n_fragments);
    offset_ = fragments_offset(view.header) +
              static_cast<std::size_t>(bytes_of_fragments(view.bytes.data(), view.header, first));
}

bool FragmentReader::next(std::span<const std::byte>& fragment) noexcept {
    if (index_ == view_->header.n_fragments) return false;
    fragment = fragment_ = view_->bytes.subspan(offset_, view_->size_of(index_++));
    offset_ += round_up(fragment.size(), std::size_t{1} << view_->header.alignment_log2);
    return true;
}

Verdict FragmentReader::verify() const noexcept {
    if (!view_->header.has_checksums()) return Verdict::ok;
    return crc32c(fragment_) == view_->checksum_of(index_ - 1) ? Verdict::ok : Verdict::wrong_checksum;
}

Writer::Writer(std::span<std::byte> packet, const Header& header) noexcept
    : packet_(packet), header_(header), end_(fragments_offset(header)) {
    ANELLO_ASSERT(header.alignment_log2 <= max_alignment_log2 && end_ <= packet.size());
    std::memset(packet_.data() + header_bytes, 0, end_ - header_bytes);
}

std::span<std::byte> Writer::add(std::uint32_t size_bytes) noexcept {
    const bool is_long = header_.has_long_fragments();
    const std::size_t padded = round_up(size_bytes, std::size_t{1} << header_.alignment_log2);
    if (index_ == header_.n_fragments || padded > packet_.size() - end_ || (!is_long && size_bytes > 0xffff)) return {};
    std::byte* sizes = packet_.data() + header_bytes;
    if (is_long)
        store_le(sizes + 4 * index_, size_bytes);
    else
        store_le(sizes + 2 * index_, static_cast<std::uint16_t>(size_bytes));
    ++index_;
    std::byte* place = packet_.data() + end_;
    std::memset(place + size_bytes, 0, padded - size_bytes);
    end_ += padded;
    return {place, size_bytes};
}

std::size_t Writer::finish() noexcept {
    if (index_ != header_.n_fragments) return 0;
    header_.length_bytes = static_cast<std::uint32_t>(end_);
    write_header(packet_.data(), header_);
    const PacketView view{.header = header_, .bytes = packet_.first(end_)};
    FragmentReader reader(view);
    std::byte* checksum = packet_.data() + checksums_offset(header_.n_fragments, header_.flags);
    if (header_.has_checksums())
        for (std::span<const std::byte> fragment; reader.next(fragment); checksum += 4)
            store_le(checksum, crc32c(fragment));
    store_le(packet_.data() + checksum_offset, checksum_of(packet_, header_));
    return end_;
}

Restamp::Restamp(std::uint16_t n_fragments, std::uint8_t flags) noexcept
    : join_(tables_end(n_fragments, flags) - header_bytes) {}

std::uint32_t Restamp::tables_checksum(std::span<const std::byte> packet) noexcept {
    const std::size_t n_fragments = load_le<std::uint16_t>(packet.data() + 10);
    const std::size_t end = tables_end(n_fragments, static_cast<std::uint8_t>(packet[5]));
    return crc32c(packet.subspan(header_bytes, end - header_bytes));
}

void Restamp::operator()(std::span<std::byte> packet, std::uint64_t first_event, std::int64_t ready_ns,
                         std::uint32_t tables_checksum) const noexcept {
    store_le(packet.data() + checksum_offset, std::uint32_t{0});
    store_le(packet.data() + first_event_offset, first_event);
    store_le(packet.data() + ready_offset, static_cast<std::uint64_t>(ready_ns));
    store_le(packet.data() + checksum_offset, join_(crc32c(packet.first(header_bytes)), tables_checksum));
}

}  // namespace anello::wire::mfp
