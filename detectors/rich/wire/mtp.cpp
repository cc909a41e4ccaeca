// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/mtp.hpp"

#include <algorithm>

#include "core/assert.hpp"
#include "wire/bytes.hpp"

namespace anello::wire::mtp {
namespace {

constexpr std::uint32_t frame_mask = 0xffffff;

Header read_header(const std::byte* at) noexcept {
    const auto w0 = load_le<std::uint32_t>(at), w1 = load_le<std::uint32_t>(at + word_bytes);
    return {.source_id = static_cast<std::uint8_t>(w0 >> 24),
            .sub_source_id = static_cast<std::uint8_t>(w1 >> 24),
            .frame = w0 & frame_mask,
            .n_primitives = static_cast<std::uint8_t>(w1 >> 16),
            .length_bytes = static_cast<std::uint16_t>(w1)};
}

bool is_timestamp(std::uint32_t word) noexcept {
    return word >> 24 == 0;
}

Verdict check_words(std::span<const std::byte> words, const Header& header) noexcept {
    std::uint32_t n_primitives = 0, last_time_fine = 0;
    for (std::size_t i = 0; i < words.size(); i += word_bytes) {
        const auto word = load_le<std::uint32_t>(words.data() + i);
        if (is_timestamp(word)) {
            if (word != header.frame) return Verdict::wrong_event_number;
            continue;
        }
        const std::uint32_t time_fine = word & 0xffff;
        if (time_fine < last_time_fine) return Verdict::wrong_event_number;
        last_time_fine = time_fine;
        ++n_primitives;
    }
    return n_primitives == header.n_primitives ? Verdict::ok : Verdict::wrong_event_count;
}

}  // namespace

Verdict parse(std::span<const std::byte> datagram, const KnownSources& known, PacketView& packet) noexcept {
    if (datagram.size() < header_bytes) return Verdict::too_short;
    packet.header = read_header(datagram.data());
    packet.words = datagram.subspan(header_bytes);
    const Header& header = packet.header;
    const bool whole_words = packet.words.size() % word_bytes == 0;
    if (header.length_bytes != datagram.size() || !whole_words || datagram.size() > max_packet_bytes)
        return Verdict::wrong_length;
    if (!known.knows(header.source_id, header.sub_source_id)) return Verdict::unknown_source;
    return check_words(packet.words, header);
}

PacketWriter::PacketWriter(std::span<std::byte> datagram, std::uint8_t source_id, std::uint8_t sub_source_id) noexcept
    : datagram_(datagram), source_id_(source_id), sub_source_id_(sub_source_id) {
    ANELLO_ASSERT(datagram.size() >= full_packet_bytes);
}

void PacketWriter::begin(std::uint32_t frame) noexcept {
    frame_ = frame & frame_mask;
    n_primitives_ = 0;
    last_time_fine_ = 0;
}

AddResult PacketWriter::add(const Primitive& primitive) noexcept {
    const std::uint32_t time_fine = ((primitive.timestamp_ticks & 0xff) << 8) | primitive.fine_time;
    if (primitive.id < smallest_primitive_id) return AddResult::wrong_id;
    if (primitive.timestamp_ticks / frame_ticks != frame_) return AddResult::wrong_frame;
    if (time_fine < last_time_fine_) return AddResult::out_of_order;
    if (n_primitives_ == max_primitives) return AddResult::full;
    std::byte* at = datagram_.data() + header_bytes + n_primitives_ * word_bytes;
    store_le(at, time_fine | (static_cast<std::uint32_t>(primitive.id) << 16));
    last_time_fine_ = time_fine;
    ++n_primitives_;
    return AddResult::ok;
}

std::size_t PacketWriter::finish(std::uint32_t fill_words) noexcept {
    std::byte* at = datagram_.data();
    std::uint32_t n_words = n_primitives_;
    if (fill_words > 0) {
        const std::uint32_t n_multiples = std::max(1U, (n_primitives_ + fill_words - 1) / fill_words);
        const std::uint32_t n_wanted = std::min(n_multiples * fill_words, max_primitives);
        for (; n_words < n_wanted; ++n_words) store_le(at + header_bytes + n_words * word_bytes, frame_);
    }
    const std::size_t length = header_bytes + n_words * word_bytes;
    store_le(at, frame_ | (static_cast<std::uint32_t>(source_id_) << 24));
    store_le(at + word_bytes, static_cast<std::uint32_t>(length) | (n_primitives_ << 16) |
                                  (static_cast<std::uint32_t>(sub_source_id_) << 24));
    return length;
}

}  // namespace anello::wire::mtp
