// SPDX-License-Identifier: Apache-2.0
// Three genuine datagrams of KM3NeT front-end boards, from KM3NeT/km3net-testdata (MIT).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "wire/bytes.hpp"
#include "wire/clb.hpp"

namespace anello::wire::clb {
namespace {

using Bytes = std::vector<std::byte>;

std::optional<Bytes> read_data(const std::string& name) {
    const char* folder = std::getenv("ANELLO_DATA");
    std::ifstream file((folder ? std::string(folder) : ANELLO_SOURCE_DIR "/../shared/data") + "/" + name,
                       std::ios::binary);
    if (!file) return std::nullopt;
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return Bytes(bytes.begin(), bytes.end());
}

/// The file's own framing: a little-endian length before each datagram.
std::vector<Bytes> split(const Bytes& file) {
    std::vector<Bytes> datagrams;
    for (auto at = file.begin(); file.end() - at >= 4;) {
        const auto length = static_cast<std::ptrdiff_t>(load_le<std::uint32_t>(&*at));
        if (length > file.end() - at - 4) throw std::runtime_error("clb.dqd is cut off");
        datagrams.emplace_back(at + 4, at + 4 + length);
        at += 4 + length;
    }
    return datagrams;
}

TEST(ClbRealData, ThreeDatagramsHaveTheirHits) {
    const auto file = read_data("clb.dqd");
    if (!file) GTEST_SKIP() << "no clb.dqd in ../shared/data or $ANELLO_DATA";
    const auto datagrams = split(*file);
    const std::vector<std::uint32_t> n_hits{229, 141, 229}, sequence{3, 4, 0},
        slice{12'500'000, 12'500'000, 18'750'000};
    ASSERT_EQ(datagrams.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        PacketView packet;
        ASSERT_EQ(parse(datagrams[i], {}, packet), Verdict::ok);
        EXPECT_EQ(packet.n_hits(), n_hits[i]);
        EXPECT_EQ(packet.header.udp_sequence, sequence[i]);
        EXPECT_EQ(packet.header.utc_16ns, slice[i]);
        EXPECT_EQ(packet.header.dom_id, 0x30beaf00U);
        std::vector<Hit> hits(packet.n_hits());
        unpack(packet, hits.data());
        // A time slice is 100 ms: the slices of the file begin 6,250,000 units of 16 ns apart.
        for (const Hit& hit : hits) EXPECT_LT(hit.time_ns, 100'000'000U);
        Bytes again(datagrams[i].size());
        EXPECT_EQ(write(again, packet.header, hits), again.size());
        EXPECT_EQ(again, datagrams[i]);
    }
}

TEST(ClbRealData, FirstHitAsTheBytesSay) {
    const auto file = read_data("clb.dqd");
    if (!file) GTEST_SKIP() << "no clb.dqd in ../shared/data or $ANELLO_DATA";
    PacketView packet;
    const auto datagrams = split(*file);
    ASSERT_EQ(parse(datagrams.at(0), {}, packet), Verdict::ok);
    std::vector<Hit> hits(packet.n_hits());
    unpack(packet, hits.data());
    EXPECT_EQ(hits.at(0), (Hit{0, 0x03f2f79b, 12}));
    EXPECT_EQ(hits.at(2), (Hit{15, 0x03f7560b, 28}));
}

}  // namespace
}  // namespace anello::wire::clb
