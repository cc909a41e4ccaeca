// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "core/assert.hpp"
#include "rich/wire/tel62.hpp"
#include "wire/bytes.hpp"

namespace anello::wire::tel62 {
namespace {

constexpr std::size_t encoded_word_bytes = 4;
constexpr std::uint32_t fpga_channels = channels_per_board / n_fpgas;

std::uint32_t fpga_of(const Hit& hit) noexcept {
    return hit.readout_channel % channels_per_board / fpga_channels;
}
std::uint64_t ticks_of(const Hit& hit) noexcept {
    return hit.time_fine >> 8;
}

/// Writes words up to a limit; after an overflow it only records that there was one.
class WordSink {
  public:
    explicit WordSink(std::span<std::byte> to) noexcept : to_(to) {}
    std::size_t put(std::uint32_t word) noexcept {
        const std::size_t index = n_words_++;
        set(index, word);
        return index;
    }
    void set(std::size_t index, std::uint32_t word) noexcept {
        if ((index + 1) * encoded_word_bytes <= to_.size()) store_le(to_.data() + index * encoded_word_bytes, word);
    }
    std::size_t n_words() const noexcept { return n_words_; }
    bool overflowed() const noexcept { return n_words_ * encoded_word_bytes > to_.size(); }

  private:
    std::span<std::byte> to_;
    std::size_t n_words_ = 0;
};

std::uint32_t hit_word(const Hit& hit) noexcept {
    return static_cast<std::uint32_t>(hit.time_fine & 0x7ffff) | ((hit.readout_channel % fpga_channels) << 19) |
           (static_cast<std::uint32_t>(hit.edge) << 28);
}

/// Moves the hits of the first frame from `hits` into the sink.
void put_frame(WordSink& sink, std::span<const Hit>& hits, std::uint32_t fpga) noexcept {
    const std::uint64_t ticks = ticks_of(hits.front());
    const std::size_t header = sink.put(0);
    while (!hits.empty() && fpga_of(hits.front()) == fpga && ticks_of(hits.front()) == ticks) {
        sink.put(hit_word(hits.front()));
        hits = hits.subspan(1);
    }
    const auto n_words = static_cast<std::uint32_t>(sink.n_words() - header);
    sink.set(header, static_cast<std::uint32_t>(ticks & 0xffff) | (n_words << 16));
}

}  // namespace

std::size_t encode(std::span<std::byte> to, const BoardHeader& header, std::span<Hit> hits) noexcept {
    const auto key = [](const Hit& hit) {
        return std::tuple(fpga_of(hit), hit.time_fine, hit.readout_channel, hit.edge);
    };
    std::sort(hits.begin(), hits.end(), [key](const Hit& a, const Hit& b) { return key(a) < key(b); });
    constexpr std::uint32_t all_fpgas = (1U << n_fpgas) - 1;
    constexpr std::uint32_t fpga_header_mark = 0xff00;
    WordSink sink(to);
    sink.put(all_fpgas | (static_cast<std::uint32_t>(header.trigger_type) << 8) |
             (static_cast<std::uint32_t>(header.board) << 16) | (static_cast<std::uint32_t>(header.format) << 24));
    std::span<const Hit> rest = hits;
    for (std::uint32_t fpga = 0; fpga < n_fpgas; ++fpga) {
        const std::size_t fpga_header = sink.put(0);
        std::uint32_t n_frames = 0;
        for (; !rest.empty() && fpga_of(rest.front()) == fpga; ++n_frames) {
            ANELLO_ASSERT(rest.front().readout_channel / channels_per_board == header.board);
            put_frame(sink, rest, fpga);
        }
        if (n_frames > 0xff) return 0;
        sink.set(fpga_header, n_frames | fpga_header_mark | (fpga << 16));
    }
    return sink.overflowed() ? 0 : sink.n_words() * encoded_word_bytes;
}

}  // namespace anello::wire::tel62
