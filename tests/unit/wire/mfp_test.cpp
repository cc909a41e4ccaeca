// SPDX-License-Identifier: Apache-2.0
#include "wire/mfp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace anello::wire::mfp {
namespace {

using Bytes = std::vector<std::byte>;
using Sizes = std::vector<std::uint32_t>;

Bytes packet_of(const Sizes& sizes, Header header = {}) {
    header.n_fragments = static_cast<std::uint16_t>(sizes.size());
    Bytes packet(max_packet_bytes(sizes.size(), sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end()),
                                  header.alignment_log2, header.flags),
                 std::byte{0xee});
    Writer writer(packet, header);
    std::uint8_t value = 1;
    for (const std::uint32_t size : sizes)
        for (std::byte& byte : writer.add(size)) byte = std::byte{value++};
    packet.resize(writer.finish());
    return packet;
}

Verdict verdict_of(const Bytes& packet) {
    PacketView view;
    return parse(packet, view);
}

/// Corrects the header's checksum after a change of header or tables.
Bytes sealed(Bytes packet) {
    store_le(packet.data() + 20, std::uint32_t{0});
    const std::size_t n = load_le<std::uint16_t>(packet.data() + 10);
    const std::size_t end = tables_end(n, static_cast<std::uint8_t>(packet[5]));
    if (end <= packet.size()) store_le(packet.data() + 20, crc32c(std::span<const std::byte>(packet).first(end)));
    return packet;
}

TEST(Mfp, ReadsTheFragmentsItWrote) {
    for (const unsigned kind : {0, 2, 3, 7, 16, 22}) {
        const auto alignment = static_cast<std::uint8_t>(kind % 16);
        const std::uint8_t flags = kind < 16 ? 0 : long_fragments;
        const Sizes sizes{5, 0, 17, flags == 0 ? 64U : 0x10001U, 1};
        const Bytes packet = packet_of(sizes, {.flags = flags,
                                               .alignment_log2 = alignment,
                                               .source_id = 513,
                                               .run_id = 7,
                                               .first_event = 0x1122334455667788,
                                               .ready_ns = -1});
        PacketView view;
        ASSERT_EQ(parse(packet, view), Verdict::ok);
        EXPECT_EQ(view.header.source_id, 513);
        EXPECT_EQ(view.header.run_id, 7U);
        EXPECT_EQ(view.header.first_event, 0x1122334455667788U);
        EXPECT_EQ(view.header.ready_ns, -1);
        FragmentReader reader(view);
        std::span<const std::byte> fragment;
        std::uint8_t value = 1;
        for (const std::uint32_t size : sizes) {
            ASSERT_TRUE(reader.next(fragment));
            ASSERT_EQ(fragment.size(), size);
            EXPECT_EQ((fragment.data() - packet.data()) % (1 << alignment), 0);
            for (const std::byte byte : fragment) EXPECT_EQ(byte, std::byte{value++});
            EXPECT_EQ(reader.verify(), Verdict::ok);
        }
        EXPECT_FALSE(reader.next(fragment));
    }
}

TEST(Mfp, ReadsFromAnyFragmentOn) {
    const Bytes packet = packet_of({5, 9, 17});
    PacketView view;
    ASSERT_EQ(parse(packet, view), Verdict::ok);
    for (std::size_t first = 0; first <= 3; ++first) {
        FragmentReader reader(view, first);
        std::span<const std::byte> fragment;
        std::size_t n = 0;
        while (reader.next(fragment)) {
            EXPECT_EQ(reader.verify(), Verdict::ok);
            ++n;
        }
        EXPECT_EQ(n, 3 - first);
    }
}

TEST(Mfp, AChangedFragmentIsFoundByItsChecksumAlone) {
    Bytes packet = packet_of({16, 16});
    packet.back() ^= std::byte{1};
    PacketView view;
    ASSERT_EQ(parse(packet, view), Verdict::ok);
    FragmentReader reader(view);
    std::span<const std::byte> fragment;
    reader.next(fragment);
    EXPECT_EQ(reader.verify(), Verdict::ok);
    reader.next(fragment);
    EXPECT_EQ(reader.verify(), Verdict::wrong_checksum);
}

TEST(Mfp, WithoutChecksumsFragmentsAreNotVerified) {
    Bytes packet = packet_of({16}, {.flags = without_checksums});
    packet.back() ^= std::byte{1};
    PacketView view;
    ASSERT_EQ(parse(packet, view), Verdict::ok);
    EXPECT_EQ(view.checksum_of(0), 0U);
    FragmentReader reader(view);
    std::span<const std::byte> fragment;
    reader.next(fragment);
    EXPECT_EQ(reader.verify(), Verdict::ok);
    packet[checksums_offset(1)] = std::byte{1};
    EXPECT_EQ(verdict_of(sealed(packet)), Verdict::wrong_flags);
}

TEST(Mfp, EachRuleHasItsVerdict) {
    const Bytes good = packet_of({5, 9, 17});
    const auto with = [&](std::size_t at, std::uint8_t value) {
        Bytes packet = good;
        packet[at] = std::byte{value};
        return packet;
    };
    EXPECT_EQ(verdict_of(Bytes(header_bytes - 1)), Verdict::too_short);
    EXPECT_EQ(verdict_of(with(0, 0)), Verdict::wrong_magic);
    EXPECT_EQ(verdict_of(with(4, 2)), Verdict::wrong_version);
    EXPECT_EQ(verdict_of(with(5, 4)), Verdict::wrong_flags);
    EXPECT_EQ(verdict_of(with(6, 13)), Verdict::wrong_flags);
    EXPECT_EQ(verdict_of(with(7, 1)), Verdict::wrong_flags);
    EXPECT_EQ(verdict_of(with(40, 1)), Verdict::wrong_flags);
    EXPECT_EQ(verdict_of(with(10, 0)), Verdict::wrong_event_count);
    EXPECT_EQ(verdict_of(with(16, 1)), Verdict::wrong_length);
    EXPECT_EQ(verdict_of(with(11, 1)), Verdict::event_truncated);  // 259 fragments
    EXPECT_EQ(verdict_of(with(24, 1)), Verdict::wrong_checksum);
    EXPECT_EQ(verdict_of(with(header_bytes, 6)), Verdict::wrong_checksum);
    EXPECT_EQ(verdict_of(sealed(with(header_bytes, 40))), Verdict::event_truncated);
    EXPECT_EQ(verdict_of(sealed(with(header_bytes + 4, 1))), Verdict::wrong_length);
}

TEST(Mfp, LongSizesThatWouldWrapAroundAreTruncated) {
    Bytes packet = packet_of({8, 8}, {.flags = long_fragments, .alignment_log2 = 12});
    for (const std::size_t at : {header_bytes, header_bytes + 4})
        store_le(packet.data() + at, std::uint32_t{0xffffffff});
    EXPECT_EQ(verdict_of(sealed(packet)), Verdict::event_truncated);
    packet[5] = std::byte{0};  // the same tables, read with sizes of 16 bits
    EXPECT_NE(verdict_of(sealed(packet)), Verdict::ok);
}

class MfpOfBothKinds : public testing::TestWithParam<std::uint8_t> {};
INSTANTIATE_TEST_SUITE_P(Mfp, MfpOfBothKinds, testing::Values(std::uint8_t{0}, std::uint8_t{long_fragments}));

TEST_P(MfpOfBothKinds, NoTruncationIsOk) {
    const Bytes good = packet_of({5, 9, 17}, {.flags = GetParam()});
    for (std::size_t n = 0; n < good.size(); ++n) {
        Bytes packet(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
        EXPECT_NE(verdict_of(packet), Verdict::ok);
        if (n < header_bytes) continue;
        store_le(packet.data() + 16, static_cast<std::uint32_t>(n));  // a length field that hides the cut
        EXPECT_NE(verdict_of(sealed(packet)), Verdict::ok) << n;
    }
}

TEST_P(MfpOfBothKinds, RestampingIsWritingAnew) {
    Bytes packet = packet_of({5, 9, 17}, {.flags = GetParam(), .first_event = 1, .ready_ns = 2});
    const Bytes wanted = packet_of({5, 9, 17}, {.flags = GetParam(), .first_event = 600, .ready_ns = 77});
    Restamp(3, GetParam())(packet, 600, 77, Restamp::tables_checksum(packet));
    EXPECT_EQ(packet, wanted);
}

TEST(Mfp, AWriterGivesNoPlaceThatItHasNot) {
    Bytes packet(max_packet_bytes(2, 8, 3));
    Writer writer(packet, {.n_fragments = 2});
    EXPECT_EQ(writer.add(8).size(), 8U);
    EXPECT_EQ(writer.finish(), 0U);  // one is missing
    EXPECT_TRUE(writer.add(9).empty());
    EXPECT_EQ(writer.add(8).size(), 8U);
    EXPECT_TRUE(writer.add(8).empty());
    EXPECT_EQ(writer.finish(), packet.size());
    Bytes large(max_packet_bytes(1, 0x10000, 3));
    EXPECT_TRUE(Writer(large, {.n_fragments = 1}).add(0x10000).empty());  // its size has 16 bits
}

}  // namespace
}  // namespace anello::wire::mfp
