// SPDX-License-Identifier: Apache-2.0
#include "wire/tel62.hpp"

#include <bit>

#include "wire/bytes.hpp"

namespace anello::wire::tel62 {
namespace {

constexpr std::size_t word_bytes = 4;
constexpr std::uint32_t error_block_follows = 1;
constexpr std::uint32_t fpga_header_mark = 0xff;  ///< stands in an FPGA header where an error block counts errors

/// The words of one payload and how far they are read.
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
    Hit* next;
    Hit* end;
    std::uint32_t unwanted_bit;  ///< of the edge's type: 1 leaves trailing ones (5) out, 0 none

    std::uint32_t wanted(std::uint32_t word) const noexcept { return ((word >> 28) & unwanted_bit) ^ 1; }
    std::size_t room() const noexcept { return static_cast<std::size_t>(end - next); }
};

/// A frame carries 16 bits of its time; the rest comes from the event, which may lie across a 16-bit border.
class FrameTime {
  public:
    explicit FrameTime(std::uint32_t event_ticks) noexcept : high_(event_ticks & 0xffff0000) {
        const std::uint32_t event_nibble = event_ticks & 0xf000;
        if (event_nibble == 0xf000) repair_ = {0, 0x10000};
        if (event_nibble == 0) repair_ = {0xf000, std::uint32_t{0} - 0x10000};
    }
    /// What the time of a hit in this frame is counted from, in 1/256 tick.
    std::uint64_t base_fine(std::uint32_t frame_header) const noexcept {
        std::uint32_t ticks = (frame_header & 0xffff) | high_;
        if ((frame_header & 0xf000) == repair_.frame_nibble) ticks += repair_.step;
        return static_cast<std::uint64_t>(ticks & 0xfffff800) << 8;
    }

  private:
    struct Repair {
        std::uint32_t frame_nibble = 1;  ///< no nibble: nothing to repair
        std::uint32_t step = 0;
    };
    std::uint32_t high_;
    Repair repair_;
};

Hit make_hit(std::uint32_t word, std::uint64_t base_fine, std::uint32_t first_channel) noexcept {
    // TDC within the FPGA (bits 24-25) and channel (bits 19-23) are neighbours: together 0 to 127.
    const std::uint32_t channel = first_channel + ((word >> 19) & 0x7f);
    return {base_fine + (word & 0x7ffff), static_cast<std::uint16_t>(channel), static_cast<Edge>(word >> 28)};
}

/// Not zero in its upper 3 bits when the word is no edge (types 4 and 5).
std::uint32_t oddness(std::uint32_t word) noexcept {
    return word ^ 0x40000000;
}
bool is_odd(std::uint32_t oddness) noexcept {
    return oddness >> 29 != 0;
}

/// Where the caller's room may be too small.
Verdict put_carefully(const Words& words, std::size_t n_words, std::uint64_t base_fine, std::uint32_t first_channel,
                      HitSink& sink) noexcept {
    for (std::size_t i = 1; i < n_words; ++i) {
        const std::uint32_t word = words.peek(i);
        if (is_odd(oddness(word))) return Verdict::wrong_hit;
        if (sink.wanted(word) == 0) continue;
        if (sink.room() == 0) return Verdict::too_many_hits;
        *sink.next++ = make_hit(word, base_fine, first_channel);
    }
    return Verdict::ok;
}

/// `words` holds the whole frame: a header and hits.
/// PERF NOTE: edges alternate unpredictably, so each is written and only the place of the next depends on its type;
/// types are judged once per frame (wire_bench mep_tel62_decode).
Verdict decode_frame(const Words& words, std::size_t n_words, const FrameTime& time, std::uint32_t first_channel,
                     HitSink& sink) noexcept {
    const std::uint64_t base_fine = time.base_fine(words.peek());
    if (sink.room() < n_words) return put_carefully(words, n_words, base_fine, first_channel, sink);
    Hit* next = sink.next;
    std::uint32_t odd = 0;
    for (std::size_t i = 1; i < n_words; ++i) {
        const std::uint32_t word = words.peek(i);
        odd |= oddness(word);
        *next = make_hit(word, base_fine, first_channel);
        next += sink.wanted(word);
    }
    sink.next = next;
    return is_odd(odd) ? Verdict::wrong_hit : Verdict::ok;
}

/// The flag is believed only where a block can be: NA62's boards also set it with nothing behind it, which shows in the
/// end of the payload or in the next FPGA's header standing there.
Verdict skip_error_block(Words& words, Decoded& decoded) noexcept {
    if (words.n_left == 0 || ((words.peek() >> 8) & 0xff) == fpga_header_mark) return Verdict::ok;
    const std::size_t n_words = words.peek() >> 16;
    if (n_words == 0 || n_words > words.n_left) return Verdict::event_truncated;
    decoded.n_error_words += static_cast<std::uint32_t>(n_words - 1);
    words.skip(n_words);
    return Verdict::ok;
}

Verdict decode_fpga(Words& words, const FrameTime& time, std::uint32_t board, std::uint32_t& fpgas_seen, HitSink& sink,
                    Decoded& decoded) noexcept {
    if (words.n_left == 0) return Verdict::event_truncated;
    const std::uint32_t header = words.take();
    const std::uint32_t n_frames = header & 0xff, fpga = (header >> 16) & 0xff;
    if (fpga >= n_fpgas || (fpgas_seen & (1U << fpga)) != 0) return Verdict::wrong_hit;
    fpgas_seen |= 1U << fpga;
    const std::uint32_t first_channel = board * channels_per_board + fpga * (channels_per_board / n_fpgas);
    for (std::uint32_t i = 0; i < n_frames; ++i) {
        const std::size_t n_words = words.n_left == 0 ? 0 : words.peek() >> 16;
        if (n_words == 0 || n_words > words.n_left) return Verdict::event_truncated;
        const Verdict verdict = decode_frame(words, n_words, time, first_channel, sink);
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
    const FrameTime time(timestamp_ticks);
    HitSink sink{hits.data(), hits.data() + hits.size(), edges == Edges::leading_only ? 1U : 0U};
    std::uint32_t fpgas_seen = 0;
    // The farm reads the highest flag as the number of FPGAs, so that 0b1111 and 0b1000 both announce four.
    for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(std::bit_width(fpga_flags)); i < n; ++i) {
        const Verdict verdict = decode_fpga(words, time, board, fpgas_seen, sink, decoded);
        if (verdict != Verdict::ok) return verdict;
    }
    decoded.n_hits = static_cast<std::uint32_t>(sink.next - hits.data());
    return words.n_left == 0 ? Verdict::ok : Verdict::wrong_event_count;
}

}  // namespace anello::wire::tel62
