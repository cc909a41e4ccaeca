// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/tel62.hpp"

#include <bit>

#include "wire/bytes.hpp"

namespace anello::wire::tel62 {
namespace {

constexpr std::size_t word_bytes = 4;
constexpr std::uint32_t error_block_follows = 1;
constexpr std::uint32_t fpga_header_mark = 0xff;  ///< stands in an FPGA header where an error block counts errors

/// The words of one payload, and the current position.
struct Words {
    const std::byte* at;
    std::size_t n_left;

    std::uint32_t peek(std::size_t index = 0) const noexcept { return load_le<std::uint32_t>(at + index * word_bytes); }
    void skip(std::size_t n_words) noexcept {
        at += n_words * word_bytes;
        n_left -= n_words;
    }
    std::uint32_t take() noexcept {
        const std::uint32_t word = peek();
        skip(1);
        return word;
    }
};

struct HitSink {
    std::span<Hit> hits;
    std::uint32_t n_hits;
    std::uint32_t unwanted_bit;  ///< bit of the type: 1 skips trailing edges (type 5), 0 none
};

/// Completes the 16 bits of time in a frame from the event's time; event and frame may be on two sides of a 16-bit
/// border.
std::uint32_t full_frame_ticks(std::uint32_t frame16, std::uint32_t event_ticks) noexcept {
    const std::uint32_t ticks = frame16 | (event_ticks & 0xffff0000);
    const std::uint32_t event_nibble = event_ticks & 0xf000, frame_nibble = frame16 & 0xf000;
    if (event_nibble == 0xf000 && frame_nibble == 0) return ticks + 0x10000;
    if (event_nibble == 0 && frame_nibble == 0xf000) return ticks - 0x10000;
    return ticks;
}

/// `words` must hold the whole frame: a header and hits.
Verdict decode_frame(const Words& words, std::size_t n_words, std::uint32_t event_ticks, std::uint32_t first_channel,
                     HitSink& sink) noexcept {
    const std::uint32_t frame_ticks = full_frame_ticks(words.peek() & 0xffff, event_ticks);
    const std::uint64_t base_fine = static_cast<std::uint64_t>(frame_ticks & 0xfffff800) << 8;
    std::uint32_t n_hits = sink.n_hits;
    for (std::size_t i = 1; i < n_words; ++i) {
        const std::uint32_t word = words.peek(i);
        const std::uint32_t type = word >> 28;
        if (type - 4 > 1) return Verdict::wrong_hit;
        // PERF NOTE: edges alternate unpredictably, so each hit is written and only the count depends on its type.
        const std::uint32_t wanted = (type & sink.unwanted_bit) ^ 1;
        if (n_hits == sink.hits.size()) {
            if (wanted != 0) return Verdict::too_many_hits;
            continue;
        }
        // The TDC within the FPGA (bits 24-25) and its channel (bits 19-23) are adjacent: together 0 to 127.
        const std::uint32_t channel = first_channel + ((word >> 19) & 0x7f);
        sink.hits[n_hits] = {base_fine + (word & 0x7ffff), static_cast<std::uint16_t>(channel),
                             static_cast<Edge>(type)};
        n_hits += wanted;
    }
    sink.n_hits = n_hits;
    return Verdict::ok;
}

/// Trusts the flag only where an error block is possible, because NA62's boards also set it without a block; then the
/// payload ends or the next FPGA's header follows.
Verdict skip_error_block(Words& words, Decoded& decoded) noexcept {
    if (words.n_left == 0 || ((words.peek() >> 8) & 0xff) == fpga_header_mark) return Verdict::ok;
    const std::size_t n_words = words.peek() >> 16;
    if (n_words == 0 || n_words > words.n_left) return Verdict::event_truncated;
    decoded.n_error_words += static_cast<std::uint32_t>(n_words - 1);
    words.skip(n_words);
    return Verdict::ok;
}

Verdict decode_fpga(Words& words, std::uint32_t event_ticks, std::uint32_t board, std::uint32_t& fpgas_seen,
                    HitSink& sink, Decoded& decoded) noexcept {
    if (words.n_left == 0) return Verdict::event_truncated;
    const std::uint32_t header = words.take();
    const std::uint32_t n_frames = header & 0xff, fpga = (header >> 16) & 0xff;
    if (fpga >= n_fpgas || (fpgas_seen & (1U << fpga)) != 0) return Verdict::wrong_hit;
    fpgas_seen |= 1U << fpga;
    const std::uint32_t first_channel = board * channels_per_board + fpga * (channels_per_board / n_fpgas);
    for (std::uint32_t i = 0; i < n_frames; ++i) {
        const std::size_t n_words = words.n_left == 0 ? 0 : words.peek() >> 16;
        if (n_words == 0 || n_words > words.n_left) return Verdict::event_truncated;
        const Verdict verdict = decode_frame(words, n_words, event_ticks, first_channel, sink);
        if (verdict != Verdict::ok) return verdict;
        words.skip(n_words);
    }
    return ((header >> 24) & error_block_follows) != 0 ? skip_error_block(words, decoded) : Verdict::ok;
}

}  // namespace

Verdict decode(std::span<const std::byte> payload, std::uint8_t board, std::uint32_t timestamp_ticks, Edges edges,
               std::span<Hit> hits, Decoded& decoded) noexcept {
    decoded = {};
    if (payload.size() < word_bytes) return Verdict::event_truncated;
    if (payload.size() % word_bytes != 0) return Verdict::wrong_length;
    Words words{payload.data(), payload.size() / word_bytes};
    const std::uint32_t header = words.take();
    const std::uint32_t fpga_flags = header & 0xff;
    decoded.trigger_type = static_cast<std::uint8_t>(header >> 8);
    if (((header >> 16) & 0xff) != board) return Verdict::unknown_source;
    if (decoded.is_special_trigger()) return Verdict::ok;
    if (fpga_flags == 0 || fpga_flags >= (1U << n_fpgas)) return Verdict::wrong_flags;
    HitSink sink{hits, 0, edges == Edges::leading_only ? 1U : 0U};
    std::uint32_t fpgas_seen = 0;
    // Like NA62's farm, takes the highest flag as the number of FPGAs, so 0b1111 and 0b1000 both mean four.
    for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(std::bit_width(fpga_flags)); i < n; ++i) {
        const Verdict verdict = decode_fpga(words, timestamp_ticks, board, fpgas_seen, sink, decoded);
        if (verdict != Verdict::ok) return verdict;
    }
    decoded.n_hits = sink.n_hits;
    return words.n_left == 0 ? Verdict::ok : Verdict::wrong_event_count;
}

}  // namespace anello::wire::tel62
