// SPDX-License-Identifier: Apache-2.0
#include "receive/frames/udp_frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "receive/frames/ethernet_frame.hpp"

namespace anello::receive {
namespace {

using Bytes = std::vector<std::byte>;

constexpr UdpRoute route{{2, 3, 4, 5, 6, 7}, {2, 9, 8, 7, 6, 5}, {0x0a000007, 4444}, {0x0a000001, 6000}};

Bytes frame_of(const Bytes& payload, const UdpRoute& on = route) {
    Bytes frame(std::max(udp_header_bytes + payload.size(), shortest_frame_bytes), std::byte{0xaa});
    EXPECT_EQ(write_udp_frame(on, payload, frame), frame.size());
    return frame;
}

/// Sum by RFC 1071, word by word: all ones where the checksum among them is right.
std::uint32_t ones_sum(const Bytes& bytes) {
    std::uint32_t total = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        total += static_cast<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    while (total >> 16 != 0) total = (total & 0xffff) + (total >> 16);
    return total;
}

Bytes part(const Bytes& frame, std::size_t from, std::size_t n) {
    return {frame.begin() + static_cast<std::ptrdiff_t>(from), frame.begin() + static_cast<std::ptrdiff_t>(from + n)};
}

std::uint32_t udp_sum(const Bytes& frame, std::size_t n_payload) {
    Bytes all = part(frame, 26, 8);  // the addresses, then protocol and length, by RFC 768
    const std::size_t n_udp = 8 + n_payload;
    for (const std::size_t value : {std::size_t{17}, n_udp}) {
        all.push_back(static_cast<std::byte>(value >> 8));
        all.push_back(static_cast<std::byte>(value));
    }
    const Bytes segment = part(frame, 34, n_udp);
    all.insert(all.end(), segment.begin(), segment.end());
    return ones_sum(all);
}

TEST(UdpFrame, IsReadAsItWasWritten) {
    for (const std::size_t n_bytes : {0, 1, 17, 18, 19, 100, 1472, 9000, 65507}) {
        Bytes payload(n_bytes);
        for (std::size_t i = 0; i < n_bytes; ++i) payload[i] = static_cast<std::byte>(i * 7 + n_bytes);
        const Bytes frame = frame_of(payload);
        UdpFrame parsed{};
        ASSERT_EQ(parse_frame(frame, frame.size(), parsed), FrameVerdict::udp) << n_bytes;
        EXPECT_EQ(Bytes(parsed.payload.begin(), parsed.payload.end()), payload);
        EXPECT_EQ(parsed.source, route.source);
        EXPECT_EQ(parsed.destination_port, route.destination.port());
        EXPECT_EQ(part(frame, 0, 6),
                  (Bytes{std::byte{2}, std::byte{9}, std::byte{8}, std::byte{7}, std::byte{6}, std::byte{5}}));
        EXPECT_EQ(ones_sum(part(frame, 14, 20)), 0xffffU) << n_bytes;
        EXPECT_EQ(udp_sum(frame, n_bytes), 0xffffU) << n_bytes;
    }
}

TEST(UdpFrame, AShortOneIsFilledUpWithZeros) {
    const Bytes frame = frame_of(Bytes(3, std::byte{1}));
    ASSERT_EQ(frame.size(), shortest_frame_bytes);
    EXPECT_EQ(part(frame, 45, 15), Bytes(15));
}

/// 0 stands for "no checksum": one that comes out as 0 is written as all ones, which is the same sum.
TEST(UdpFrame, NeverSaysThatThereIsNoChecksum) {
    int n_all_ones = 0;
    for (int value = 0; value < 0x10000; ++value) {
        const Bytes frame = frame_of({static_cast<std::byte>(value >> 8), static_cast<std::byte>(value)});
        const bool is_none = frame[40] == std::byte{0} && frame[41] == std::byte{0};
        ASSERT_FALSE(is_none) << value;
        n_all_ones += frame[40] == std::byte{0xff} && frame[41] == std::byte{0xff} ? 1 : 0;
    }
    EXPECT_GT(n_all_ones, 0);
}

}  // namespace
}  // namespace anello::receive
