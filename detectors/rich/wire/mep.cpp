// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/mep.hpp"

#include <algorithm>

#include "core/assert.hpp"
#include "wire/bytes.hpp"

namespace anello::wire::mep {
namespace {

constexpr std::byte last_of_burst_bit{0x80};

Header read_header(const std::byte* at) noexcept {
    return {.first_event_number = load_le<std::uint32_t>(at) & event_number_mask,
            .source_id = static_cast<std::uint8_t>(at[3]),
            .length_bytes = load_le<std::uint16_t>(at + 4),
            .n_fragments = static_cast<std::uint8_t>(at[6]),
            .sub_source_id = static_cast<std::uint8_t>(at[7])};
}

Verdict check_fragments(std::span<const std::byte> payload, const Header& header) noexcept {
    const std::byte* at = payload.data();
    std::size_t n_left = payload.size();
    for (std::uint32_t i = 0; i < header.n_fragments; ++i) {
        if (n_left == 0) return Verdict::wrong_event_count;
        if (n_left < fragment_header_bytes) return Verdict::event_truncated;
        const std::size_t length = load_le<std::uint16_t>(at);
        if (length < fragment_header_bytes || length > n_left) return Verdict::event_truncated;
        const std::uint32_t expected = (header.first_event_number + i) & 0xff;
        if (static_cast<std::uint32_t>(at[2]) != expected) return Verdict::wrong_event_number;
        at += length;
        n_left -= length;
    }
    return n_left == 0 && header.n_fragments > 0 ? Verdict::ok : Verdict::wrong_event_count;
}

}  // namespace

Verdict parse(std::span<const std::byte> datagram, const KnownSources& known, PacketView& packet) noexcept {
    if (datagram.size() < header_bytes) return Verdict::too_short;
    packet.header = read_header(datagram.data());
    packet.payload = datagram.subspan(header_bytes);
    const Header& header = packet.header;
    if (header.length_bytes != datagram.size()) return Verdict::wrong_length;
    if (!known.knows(header.source_id, header.sub_source_id)) return Verdict::unknown_source;
    return check_fragments(packet.payload, header);
}

bool FragmentReader::next(FragmentView& fragment) noexcept {
    if (n_left_ == 0) return false;
    const std::size_t length = load_le<std::uint16_t>(at_);
    fragment.event_number = number_;
    fragment.last_of_burst = (at_[3] & last_of_burst_bit) != std::byte{0};
    fragment.timestamp_ticks = load_le<std::uint32_t>(at_ + 4);
    fragment.payload = {at_ + fragment_header_bytes, length - fragment_header_bytes};
    at_ += length;
    --n_left_;
    number_ = (number_ + 1) & event_number_mask;
    return true;
}

PacketWriter::PacketWriter(std::span<std::byte> datagram, std::uint8_t source_id, std::uint8_t sub_source_id,
                           std::uint32_t first_event_number) noexcept
    : datagram_(datagram.first(std::min(datagram.size(), max_packet_bytes))),
      first_event_number_(first_event_number & event_number_mask),
      source_id_(source_id),
      sub_source_id_(sub_source_id) {
    ANELLO_ASSERT(datagram.size() >= header_bytes);
}

std::span<std::byte> PacketWriter::room() const noexcept {
    const std::size_t begin = n_bytes_ + fragment_header_bytes;
    if (n_fragments_ == max_fragments || begin > datagram_.size()) return {};
    return datagram_.subspan(begin);
}

bool PacketWriter::close(std::size_t payload_bytes, std::uint32_t timestamp_ticks, bool last_of_burst) noexcept {
    const std::size_t length = fragment_header_bytes + payload_bytes;
    if (n_fragments_ == max_fragments || length > datagram_.size() - n_bytes_) return false;
    std::byte* at = datagram_.data() + n_bytes_;
    store_le(at, static_cast<std::uint16_t>(length));
    at[2] = static_cast<std::byte>(first_event_number_ + n_fragments_);
    at[3] = last_of_burst ? last_of_burst_bit : std::byte{0};
    store_le(at + 4, timestamp_ticks);
    n_bytes_ += length;
    ++n_fragments_;
    return true;
}

bool PacketWriter::add(std::span<const std::byte> payload, std::uint32_t timestamp_ticks, bool last_of_burst) noexcept {
    if (payload.size() > room().size()) return false;
    std::copy(payload.begin(), payload.end(), room().begin());
    return close(payload.size(), timestamp_ticks, last_of_burst);
}

std::size_t PacketWriter::finish() noexcept {
    std::byte* at = datagram_.data();
    store_le(at, first_event_number_ | (static_cast<std::uint32_t>(source_id_) << 24));
    store_le(at + 4, static_cast<std::uint16_t>(n_bytes_));
    at[6] = static_cast<std::byte>(n_fragments_);
    at[7] = std::byte{sub_source_id_};
    return n_bytes_;
}

std::size_t datagram_bytes(std::span<const std::byte> bytes) noexcept {
    constexpr std::size_t length_at = 4;  // mtp has the length in the same place
    return bytes.size() < header_bytes ? 0 : load_le<std::uint16_t>(bytes.data() + length_at);
}

}  // namespace anello::wire::mep
