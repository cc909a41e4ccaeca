// SPDX-License-Identifier: Apache-2.0
#include "frame_follower.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "seed.hpp"

namespace anello::zeromq {
namespace {

/// A frame by rfc.zeromq.org/spec/23.
void append_frame(std::vector<unsigned char>& bytes, std::size_t body_bytes, bool long_length) {
    bytes.push_back(long_length ? 0x06 : 0x04);
    for (int shift = long_length ? 56 : 0; shift >= 0; shift -= 8)
        bytes.push_back(static_cast<unsigned char>(body_bytes >> shift));
    bytes.insert(bytes.end(), body_bytes, 0xff);
}

TEST(FrameFollower, NeverAllowsAByteBehindTheFrameInAnyPieces) {
    std::mt19937_64 random(anello::test::seed());
    FrameFollower follower;
    for (const std::size_t body_bytes : {0, 1, 5, 254, 255, 256, 257, 70'000}) {
        for (const bool long_length : {false, true}) {
            if (!long_length && body_bytes > 255) continue;
            std::vector<unsigned char> frame;
            append_frame(frame, body_bytes, long_length);
            for (std::size_t at = 0; at < frame.size();) {
                const auto allowed = static_cast<std::size_t>(follower.may_read());
                ASSERT_GE(allowed, 1u);
                ASSERT_LE(at + allowed, frame.size()) << "body of " << body_bytes;
                const std::size_t n_bytes = 1 + random() % allowed;
                follower.follow(frame.data() + at, n_bytes);
                at += n_bytes;
            }
            EXPECT_EQ(follower.may_read(), 1u) << "the next frame begins";
        }
    }
}

TEST(FrameFollower, ALengthBeyondAllMemoryIsFollowedNotBelieved) {
    FrameFollower follower;
    const std::vector<unsigned char> frame{0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    for (const unsigned char byte : frame) follower.follow(&byte, 1);
    EXPECT_EQ(follower.may_read(), ~std::uint64_t{0});
}

TEST(FrameFollower, KnowsHowLongAFrameIs) {
    EXPECT_EQ(FrameFollower::frame_bytes(0), 2u);
    EXPECT_EQ(FrameFollower::frame_bytes(255), 257u);
    EXPECT_EQ(FrameFollower::frame_bytes(256), 265u);
}

}  // namespace
}  // namespace anello::zeromq
