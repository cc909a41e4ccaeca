// SPDX-License-Identifier: Apache-2.0
#include "km3net/wire/daq.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "wire/bytes.hpp"

namespace anello::wire::daq {
namespace {

using Bytes = std::vector<std::byte>;

struct Writer {
    Bytes bytes;
    template <typename Unsigned>
    Writer& put(Unsigned value) {
        bytes.resize(bytes.size() + sizeof value);
        store_le(bytes.data() + bytes.size() - sizeof value, value);
        return *this;
    }
    Writer& words(std::initializer_list<std::uint32_t> values) {
        for (const std::uint32_t value : values) put(value);
        return *this;
    }
    Writer& origin() { return words({29, 3246, 30, 1513144803, 6'250'000}); }
    Writer& hit(std::uint8_t channel, std::uint32_t time_ns) {
        return put(channel).put(swap_bytes(time_ns)).put(std::uint8_t{26});
    }
    Writer& head(Type type) { return words({0, static_cast<std::uint32_t>(type)}).put(version_of(type)).origin(); }
    Bytes done() {
        store_le(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
        return bytes;
    }
};

Bytes slice_of(std::initializer_list<std::uint32_t> n_hits, Type type = Type::l1_slice) {
    Writer writer;
    writer.head(type).put(static_cast<std::uint32_t>(n_hits.size()));
    std::uint32_t dom_id = 808'000'000;
    for (const std::uint32_t n : n_hits) {
        writer.words({56 + 6 * n, 101}).origin().words({dom_id++, 12 | 11U << 16, 1, 2, 3, 4, n});
        for (std::uint32_t i = 0; i < n; ++i) writer.hit(static_cast<std::uint8_t>(i % 31), 1000 + i);
    }
    return writer.done();
}

Bytes summary() {
    Writer writer;
    writer.head(Type::summary).put(std::uint32_t{2});
    for (std::uint32_t dom = 0; dom < 2; ++dom) {
        writer.words({dom, 7, 1, 2, 3, 4});
        for (std::uint8_t pmt = 0; pmt < 31; ++pmt) writer.put(static_cast<std::uint8_t>(pmt + 100 * dom));
    }
    return writer.done();
}

Bytes event() {
    Writer writer;
    writer.head(Type::event).put(std::uint64_t{77}).put(std::uint64_t{16}).words({3, 1});
    writer.put(std::uint32_t{808}).hit(4, 500).put(std::uint64_t{16}).put(std::uint32_t{2});
    writer.put(std::uint32_t{808}).hit(4, 500).put(std::uint32_t{809}).hit(30, 600);
    return writer.done();
}

Verdict verdict_of(const Bytes& message) {
    MessageView view;
    return parse(message, view);
}

TEST(Daq, ReadsTheFramesOfASlice) {
    const Bytes message = slice_of({2, 0, 40});
    MessageView view;
    ASSERT_EQ(parse(message, view), Verdict::ok);
    EXPECT_EQ(view.header.origin, (Origin{29, 3246, 30, 1513144803, 6'250'000}));
    FrameReader reader(view);
    Frame frame;
    for (const std::size_t n : {2, 0, 40}) {
        ASSERT_TRUE(reader.next(frame));
        EXPECT_EQ(frame.hits.size(), n * hit_bytes);
        EXPECT_EQ(frame.status.n_received, 12U);
        EXPECT_EQ(frame.status.largest_sequence, 11U);
        EXPECT_EQ(frame.status.board, (std::array<std::uint32_t, 4>{1, 2, 3, 4}));
    }
    EXPECT_EQ(frame.status.dom_id, 808'000'002U);
    EXPECT_FALSE(reader.next(frame));
}

TEST(Daq, ReadsRatesAndEvents) {
    const Bytes rates = summary(), found = event();
    MessageView view;
    ASSERT_EQ(parse(rates, view), Verdict::ok);
    FrameReader reader(view);
    RateFrame frame;
    ASSERT_TRUE(reader.next(frame) && reader.next(frame));
    EXPECT_EQ(frame.rates[30], std::byte{130});
    EXPECT_FALSE(reader.next(frame));
    ASSERT_EQ(parse(found, view), Verdict::ok);
    EXPECT_EQ(view.number, 77U);
    EXPECT_EQ(view.mask, 16U);
    EXPECT_EQ(view.n_overlays, 3U);
    EXPECT_EQ(view.triggered.size(), triggered_bytes);
    EXPECT_EQ(view.snapshot.size(), 2 * snapshot_bytes);
}

TEST(Daq, AMessageSaysHowLongItIsAndOthersDoNot) {
    Bytes two = event();
    const std::size_t length = two.size();
    two.resize(2 * length);
    EXPECT_EQ(message_bytes(two), length);
    EXPECT_EQ(message_bytes(std::span(two).first(29)), 0U);
    store_le(two.data() + 4, std::uint32_t{1006});
    EXPECT_EQ(message_bytes(two), 0U);
}

TEST(DaqVerdict, HeaderAndLength) {
    const Bytes right = slice_of({1});
    EXPECT_EQ(verdict_of(Bytes(29)), Verdict::too_short);
    Bytes wrong = right;
    wrong[4] = std::byte{101};
    EXPECT_EQ(verdict_of(wrong), Verdict::wrong_magic);
    wrong = right;
    wrong[8] = std::byte{9};
    EXPECT_EQ(verdict_of(wrong), Verdict::wrong_version);
    wrong = right;
    wrong.push_back({});
    EXPECT_EQ(verdict_of(wrong), Verdict::wrong_length);
}

TEST(DaqVerdict, FramesAndLists) {
    for (const Bytes& right : {slice_of({1, 1}), summary(), event()}) {
        ASSERT_EQ(verdict_of(right), Verdict::ok);
        for (const int one_more : {1, -1}) {
            Bytes wrong = right;
            const std::size_t at = right == event() ? 50 : 30;
            store_le(wrong.data() + at,
                     static_cast<std::uint32_t>(load_le<std::uint32_t>(wrong.data() + at) + one_more));
            EXPECT_NE(verdict_of(wrong), Verdict::ok) << at << ' ' << one_more;
        }
        Bytes huge = right;
        store_le(huge.data() + (right == event() ? 50 : 30), ~0U);
        EXPECT_NE(verdict_of(huge), Verdict::ok);
    }
    Bytes wrong = slice_of({1});
    wrong[34 + 4] = std::byte{102};
    EXPECT_EQ(verdict_of(wrong), Verdict::wrong_event_number) << "no frame";
    wrong = slice_of({1});
    wrong[34 + 12] = std::byte{1};
    EXPECT_EQ(verdict_of(wrong), Verdict::wrong_event_number) << "a frame of another run";
    wrong = slice_of({1});
    wrong[34 + 8 + 15] |= std::byte{0x80};
    EXPECT_EQ(verdict_of(wrong), Verdict::ok) << "bit 31 of the seconds is the state of the clock";
}

TEST(DaqVerdict, AChannelThatADomDoesNotHave) {
    Bytes slice = slice_of({2}), found = event();
    slice[34 + 56 + 6] = std::byte{31};
    EXPECT_EQ(verdict_of(slice), Verdict::wrong_hit);
    found[found.size() - 6] = std::byte{31};
    EXPECT_EQ(verdict_of(found), Verdict::wrong_hit);
}

/// For any wrong byte and any length, the parser reads nothing beyond the message; the sanitizers check it.
TEST(DaqVerdict, AnyByteAndAnyEnd) {
    for (const Bytes& right : {slice_of({1, 2}), summary(), event()}) {
        for (std::size_t at = 0; at < right.size(); ++at) {
            Bytes wrong = right;
            wrong[at] = ~wrong[at];
            MessageView view;
            if (parse(wrong, view) != Verdict::ok || view.header.type == Type::event) continue;
            FrameReader frames(view);
            std::size_t n = 0;
            Frame frame;
            RateFrame rates;
            while (is_slice(view.header.type) ? frames.next(frame) : frames.next(rates)) ++n;
            EXPECT_EQ(n, view.n_frames);
        }
        for (std::size_t end = 0; end < right.size(); ++end) {
            Bytes cut(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(end));
            if (end >= 4) store_le(cut.data(), static_cast<std::uint32_t>(end));
            EXPECT_NE(verdict_of(cut), Verdict::ok) << end;
        }
    }
}

}  // namespace
}  // namespace anello::wire::daq
