// SPDX-License-Identifier: Apache-2.0
// Datagrams of KM3NeT front-end boards: three real ones from KM3NeT/km3net-testdata (MIT), and look-alikes.
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "km3net/wire/clb.hpp"
#include "lookalikes/detector_file.hpp"
#include "wire/bytes.hpp"

namespace anello::wire::clb {
namespace {

using Bytes = std::vector<std::byte>;

/// Splits the file, in which a little-endian length precedes each datagram.
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

struct DatagramTruth {
    std::uint32_t n_hits, sequence, utc_16ns;
};
struct FileTruth {
    std::uint32_t run_number, dom_id;
    std::vector<DatagramTruth> datagrams;
    Hit first, third;  ///< of the first datagram
};

const FileTruth genuine{0,
                        0x30beaf00,
                        {{229, 3, 12'500'000}, {141, 4, 12'500'000}, {229, 0, 18'750'000}},
                        {0, 0x03f2f79b, 12},
                        {15, 0x03f7560b, 28}};
const FileTruth made{7,
                     0x30d00b17,
                     {{31, 2, 12'500'000}, {0, 3, 12'500'000}, {12, 4, 12'500'000}, {40, 0, 18'750'000}},
                     {7, 210'604, 56},
                     {2, 2'834'737, 226}};

class ClbData : public test::DetectorFile {
  protected:
    ClbData() : DetectorFile("clb.dqd") {}
    const FileTruth& truth() const { return of_this(genuine, made); }
};

TEST_P(ClbData, DatagramsHaveTheirHits) {
    const auto datagrams = split(bytes());
    ASSERT_EQ(datagrams.size(), truth().datagrams.size());
    for (std::size_t i = 0; i < datagrams.size(); ++i) {
        PacketView packet;
        ASSERT_EQ(parse(datagrams[i], {}, packet), Verdict::ok);
        EXPECT_EQ(packet.n_hits(), truth().datagrams[i].n_hits);
        EXPECT_EQ(packet.header.run_number, truth().run_number);
        EXPECT_EQ(packet.header.udp_sequence, truth().datagrams[i].sequence);
        EXPECT_EQ(packet.header.utc_s, 26'690U);
        EXPECT_EQ(packet.header.utc_16ns, truth().datagrams[i].utc_16ns);
        EXPECT_EQ(packet.header.dom_id, truth().dom_id);
        std::vector<Hit> hits(packet.n_hits());
        unpack(packet, hits.data());
        // A time slice is 100 ms: the slices of the file begin 6,250,000 units of 16 ns apart.
        for (const Hit& hit : hits) EXPECT_LT(hit.time_ns, 100'000'000U);
        Bytes again(datagrams[i].size());
        EXPECT_EQ(write(again, packet.header, hits), again.size());
        EXPECT_EQ(again, datagrams[i]);
    }
}

TEST_P(ClbData, FirstHitsAsTheBytesSay) {
    PacketView packet;
    const auto datagrams = split(bytes());
    ASSERT_EQ(parse(datagrams.at(0), {}, packet), Verdict::ok);
    std::vector<Hit> hits(packet.n_hits());
    unpack(packet, hits.data());
    EXPECT_EQ(hits.at(0), truth().first);
    EXPECT_EQ(hits.at(2), truth().third);
}

INSTANTIATE_TEST_SUITE_P(Data, ClbData, test::both_kinds, test::kind_name);

}  // namespace
}  // namespace anello::wire::clb
