// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/tel62.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "wire/bytes.hpp"

namespace anello::wire::tel62 {
namespace {

using Words = std::vector<std::uint32_t>;

std::vector<std::byte> bytes_of(const Words& words) {
    std::vector<std::byte> bytes(words.size() * 4);
    for (std::size_t i = 0; i < words.size(); ++i) store_le(bytes.data() + 4 * i, words[i]);
    return bytes;
}

struct Result {
    Verdict verdict;
    Decoded decoded;
    std::vector<Hit> hits;
};

Result decode_words(const Words& words, std::uint32_t timestamp_ticks = 0x12345, Edges edges = Edges::both,
                    std::size_t room = 64) {
    Result result{Verdict::ok, {}, std::vector<Hit>(room)};
    result.verdict = decode(bytes_of(words), 2, timestamp_ticks, edges, result.hits, result.decoded);
    result.hits.resize(result.decoded.n_hits);
    return result;
}

constexpr std::uint32_t board(std::uint32_t fpga_flags, std::uint32_t trigger_type = 1) {
    return fpga_flags | (trigger_type << 8) | (2U << 16);
}
constexpr std::uint32_t fpga(std::uint32_t id, std::uint32_t n_frames, std::uint32_t error_flags = 0) {
    return n_frames | 0xff00 | (id << 16) | (error_flags << 24);
}
constexpr std::uint32_t frame(std::uint32_t ticks, std::uint32_t n_words) {
    return ticks | (n_words << 16);
}
constexpr std::uint32_t hit(std::uint32_t time, std::uint32_t channel, std::uint32_t tdc, std::uint32_t type) {
    return time | (channel << 19) | (tdc << 24) | (type << 28);
}

TEST(Tel62, ChannelAndTimeOfAHandWrittenEvent) {
    const auto result = decode_words({board(3), fpga(0, 1), frame(0x2345, 3), hit(0x34512, 5, 1, 4),
                                      hit(0x34600, 5, 1, 5), fpga(1, 1), frame(0x2346, 2), hit(0x34601, 31, 3, 4)});
    ASSERT_EQ(result.verdict, Verdict::ok);
    ASSERT_EQ(result.hits.size(), 3U);
    EXPECT_EQ(result.hits[0], (Hit{0x1200000 + 0x34512, 2 * 512 + 32 + 5, Edge::leading}));
    EXPECT_EQ(result.hits[1].edge, Edge::trailing);
    EXPECT_EQ(result.hits[2], (Hit{0x1200000 + 0x34601, 2 * 512 + 7 * 32 + 31, Edge::leading}));
}

TEST(Tel62, LeadingEdgesOnly) {
    const Words words{board(1), fpga(0, 1), frame(1, 3), hit(1, 5, 1, 4), hit(2, 5, 1, 5)};
    EXPECT_EQ(decode_words(words, 0, Edges::leading_only, 1).hits.size(), 1U) << "trailing edges take no room";
}

TEST(Tel62, FrameTimeIsRepairedAcrossThe16BitBorder) {
    const auto time_fine = [](std::uint32_t event_ticks, std::uint32_t frame_ticks) {
        return decode_words({board(1), fpga(0, 1), frame(frame_ticks, 2), hit(0, 0, 0, 4)}, event_ticks)
            .hits.at(0)
            .time_fine;
    };
    EXPECT_EQ(time_fine(0x5fffe, 0x0003), 0x60000U << 8) << "frame after the border";
    EXPECT_EQ(time_fine(0x60002, 0xffff), 0x5f800U << 8) << "frame before the border";
    EXPECT_EQ(time_fine(0x60002, 0xefff), 0x6e800U << 8) << "too far for a repair";
    EXPECT_EQ(time_fine(0x00002, 0xffff), 0xfffff800ULL << 8) << "before the burst, 32 bits wrap";
}

TEST(Tel62, SpecialTriggersHaveNoHits) {
    const auto result = decode_words({board(0, 0xa3), 0xdeadbeef});
    EXPECT_EQ(result.verdict, Verdict::ok);
    EXPECT_TRUE(result.decoded.is_special_trigger());
    EXPECT_EQ(result.decoded.n_hits, 0U);
}

TEST(Tel62, ErrorBlocksAreSkippedWithinBounds) {
    const Words with_block{board(3), fpga(0, 0, 1), 3U << 16, 7, 8, fpga(1, 1), frame(9, 2), hit(1, 2, 3, 4)};
    const auto result = decode_words(with_block);
    EXPECT_EQ(result.verdict, Verdict::ok);
    EXPECT_EQ(result.decoded.n_error_words, 2U);
    EXPECT_EQ(result.hits.size(), 1U);
    EXPECT_EQ(decode_words({board(1), fpga(0, 0, 1), 4U << 16, 7, 8}).verdict, Verdict::event_truncated);
    EXPECT_EQ(decode_words({board(1), fpga(0, 0, 1), 0, 7, 8}).verdict, Verdict::event_truncated) << "no words";
}

TEST(Tel62, ErrorFlagWithoutBlockIsForgiven) {
    EXPECT_EQ(decode_words({board(1), fpga(0, 0, 1)}).verdict, Verdict::ok) << "at the end";
    EXPECT_EQ(decode_words({board(3), fpga(0, 0, 1), fpga(1, 0)}).verdict, Verdict::ok) << "before the next FPGA";
}

TEST(Tel62Verdict, EventTruncated) {
    EXPECT_EQ(decode_words({}).verdict, Verdict::event_truncated);
    EXPECT_EQ(decode_words({board(1)}).verdict, Verdict::event_truncated) << "an FPGA is missing";
    EXPECT_EQ(decode_words({board(1), fpga(0, 1)}).verdict, Verdict::event_truncated) << "a frame is missing";
    EXPECT_EQ(decode_words({board(1), fpga(0, 1), frame(1, 2)}).verdict, Verdict::event_truncated) << "a hit";
    EXPECT_EQ(decode_words({board(1), fpga(0, 1), frame(1, 0)}).verdict, Verdict::event_truncated) << "a frame of 0";
}

TEST(Tel62Verdict, WrongLength) {
    auto bytes = bytes_of({board(1), fpga(0, 0)});
    bytes.push_back(std::byte{0});
    Decoded decoded;
    EXPECT_EQ(decode(bytes, 2, 0, Edges::both, {}, decoded), Verdict::wrong_length);
}

TEST(Tel62Verdict, UnknownSource) {
    Decoded decoded;
    EXPECT_EQ(decode(bytes_of({board(1), fpga(0, 0)}), 1, 0, Edges::both, {}, decoded), Verdict::unknown_source);
}

TEST(Tel62Verdict, WrongFlags) {
    EXPECT_EQ(decode_words({board(0)}).verdict, Verdict::wrong_flags);
    EXPECT_EQ(decode_words({board(16), fpga(0, 0)}).verdict, Verdict::wrong_flags);
}

TEST(Tel62Verdict, WrongHit) {
    for (const std::uint32_t type : {0U, 3U, 6U, 15U})
        EXPECT_EQ(decode_words({board(1), fpga(0, 1), frame(1, 2), hit(0, 0, 0, type)}).verdict, Verdict::wrong_hit);
    EXPECT_EQ(decode_words({board(1), fpga(4, 0)}).verdict, Verdict::wrong_hit) << "FPGAs are 0 to 3";
    EXPECT_EQ(decode_words({board(3), fpga(0, 0), fpga(0, 0)}).verdict, Verdict::wrong_hit) << "the same twice";
}

TEST(Tel62Verdict, TooManyHits) {
    const Words words{board(1), fpga(0, 1), frame(1, 3), hit(1, 5, 1, 4), hit(2, 6, 1, 4)};
    EXPECT_EQ(decode_words(words, 0, Edges::both, 1).verdict, Verdict::too_many_hits);
    EXPECT_EQ(decode_words(words, 0, Edges::both, 2).verdict, Verdict::ok);
}

TEST(Tel62Verdict, WrongEventCount) {
    EXPECT_EQ(decode_words({board(1), fpga(0, 0), 0}).verdict, Verdict::wrong_event_count) << "a word is left";
}

TEST(Tel62, EncodeSaysWhenThereIsNoRoom) {
    std::vector<Hit> hits{{100, 3, Edge::leading}};
    std::vector<std::byte> to(4 * (1 + 4 + 2));
    EXPECT_EQ(encode(to, {}, hits), to.size());
    EXPECT_EQ(encode(std::span(to).first(to.size() - 1), {}, hits), 0U);
}

}  // namespace
}  // namespace anello::wire::tel62
