// SPDX-License-Identifier: Apache-2.0
#include "wire/packet_format.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "all_formats.hpp"
#include "conformance/formats/vector_file.hpp"
#include "core/errors.hpp"

namespace anello::wire {
namespace {

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    const auto* first = reinterpret_cast<const std::byte*>(content.data());
    return {first, first + content.size()};
}

TEST(PacketFormat, FindsByName) {
    std::set<std::string> names;
    for (const PacketFormat& format : packet_formats()) {
        EXPECT_EQ(find_packet_format(format.name), &format);
        names.insert(format.name);
    }
    EXPECT_EQ(names.size(), packet_formats().size());
    EXPECT_EQ(find_packet_format("ogg"), nullptr);
    EXPECT_EQ(&packet_format_named("clb"), find_packet_format("clb"));
    try {
        packet_format_named("ogg");
        ADD_FAILURE() << "it was found";
    } catch (const ConfigError& error) {
        for (const std::string& name : names) EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
    }
}

/// Takes the fuzzers' seeds of each format, cut at every length: checking and reading agree, but for TEL62 in an MEP.
TEST(PacketFormat, CheckAndReadAgreeOnEverySeedAtEveryLength) {
    const std::filesystem::path corpus(ANELLO_SOURCE_DIR "/tests/fuzz/corpus");
    for (const PacketFormat& format : packet_formats()) {
        for (const auto& seed : std::filesystem::directory_iterator(corpus / format.name)) {
            const std::vector<std::byte> whole = bytes_of(seed.path());
            for (std::size_t length = 0; length <= whole.size(); ++length) {
                const std::vector<std::byte> datagram(whole.begin(),
                                                      whole.begin() + static_cast<std::ptrdiff_t>(length));
                Summary summary;
                Contents contents;
                const Verdict checked = format.check(datagram, summary), read = format.read(datagram, contents);
                const bool by_tel62 = checked == Verdict::ok && format.name == std::string("mep");
                EXPECT_TRUE(checked == read || by_tel62) << seed.path() << " of " << length << " bytes";
            }
        }
    }
}

TEST(PacketFormat, WhatHasNoHeaderShowsNone) {
    for (const PacketFormat& format : packet_formats()) {
        Contents contents;
        format.read({}, contents);
        EXPECT_TRUE(contents.header.empty()) << format.name;
    }
}

TEST(PacketFormat, EveryHitOfAnMgpIsShown) {
    for (const char* vector : {"mgp_9bit.hex", "mgp_16bit_checksum.hex"}) {
        Contents contents;
        ASSERT_EQ(packet_format_named("mgp").read(VectorFile::read(vector).bytes, contents), Verdict::ok);
        const std::vector<std::uint64_t> channels{1, 2, 256, 511, 0, 487, 486, 485, 484, 483, 482, 481, 480, 7};
        EXPECT_EQ(contents.tables[1].columns[1].values, channels) << vector;
    }
}

TEST(PacketFormat, AnMepIsAsBadAsItsFirstBadFragment) {
    VectorFile mep = VectorFile::read("mep_tel62.hex");
    const auto read = [&] {
        Contents contents;
        const Verdict verdict = packet_format_named("mep").read(mep.bytes, contents);
        EXPECT_EQ(contents.tables.front().columns.front().values.size(), 3U) << "all fragments are shown";
        return verdict;
    };
    mep.bytes[68] = std::byte{0};  // the second fragment's FPGAs
    EXPECT_EQ(read(), Verdict::wrong_flags);
    mep.bytes[18] = std::byte{3};  // the first one's board
    EXPECT_EQ(read(), Verdict::unknown_source);
}

TEST(PacketFormat, OnlyTheRichsBoardsSendTel62) {
    VectorFile mep = VectorFile::read("mep_tel62.hex");
    mep.bytes[3] = std::byte{0x24};  // the straws' source
    Contents contents;
    EXPECT_EQ(packet_format_named("mep").read(mep.bytes, contents), Verdict::ok);
    EXPECT_TRUE(contents.tables[1].columns[0].values.empty());
}

TEST(PacketFormat, SummaryTellsSourceSequenceItemsAndStamp) {
    const auto summary_of = [](const char* vector) {
        const VectorFile file = VectorFile::read(std::string(vector) + ".hex");
        const PacketFormat* const format = recognise(file.bytes);
        Summary summary;
        EXPECT_EQ(format->check(file.bytes, summary), Verdict::ok);
        return summary;
    };
    const Summary mgp = summary_of("mgp_16bit_checksum");
    EXPECT_TRUE(mgp.has_sequence);
    EXPECT_EQ(mgp.sequence, 2309737967U);
    EXPECT_EQ(mgp.source_id, 3U);
    EXPECT_EQ(mgp.n_items, 3U);
    EXPECT_EQ(mgp.sent_ns, 1700000000123456789);
    EXPECT_EQ(mgp.n_numbers, 1U);
    EXPECT_FALSE(mgp.says_next);
    EXPECT_FALSE(summary_of("mgp_end_of_burst").has_sequence);
    EXPECT_TRUE(summary_of("mgp_end_of_burst").says_next);
    EXPECT_TRUE(summary_of("camera_start_of_run").says_next);
    EXPECT_EQ(summary_of("mep_tel62").n_numbers, summary_of("mep_tel62").n_items);
    EXPECT_EQ(summary_of("mep_tel62").source_id, 0x1c02U);
    EXPECT_EQ(summary_of("mtp_primitives").sequence, 1193046U);
    EXPECT_EQ(summary_of("camera_waveforms").source_id, 264U);
    EXPECT_FALSE(summary_of("camera_start_of_run").has_sequence);
    EXPECT_EQ(summary_of("mfp_three").n_items, 3U);
}

TEST(PacketFormat, FirstCellsOfACameraAreNoSamples) {
    Contents contents;
    const VectorFile file = VectorFile::read("camera_first_cells.hex");
    ASSERT_EQ(find_packet_format("camera")->read(file.bytes, contents), Verdict::ok);
    ASSERT_EQ(contents.tables.size(), 2U);
    EXPECT_EQ(contents.tables[0].columns[0].values.size(), 42U);
    const std::vector<std::uint64_t> cells{0, 4095, 1023, 1024, 2047, 2048, 3071, 3072};
    EXPECT_EQ(contents.tables[1].columns[1].values, cells);
}

TEST(PacketFormat, NothingIsRecognisedInOtherBytes) {
    EXPECT_EQ(recognise({}), nullptr);
    EXPECT_EQ(recognise(std::vector<std::byte>(64)), nullptr);
    EXPECT_EQ(any_datagram_bytes(std::vector<std::byte>(64)), 0U);
}

TEST(PacketFormat, ADatagramSaysHowLongItIs) {
    for (const char* vector : {"mgp_9bit.hex", "mep_tel62.hex", "mtp_primitives.hex"}) {
        const VectorFile file = VectorFile::read(vector);
        EXPECT_EQ(any_datagram_bytes(file.bytes), file.bytes.size()) << vector;
    }
}

}  // namespace
}  // namespace anello::wire
