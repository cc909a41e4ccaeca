// SPDX-License-Identifier: Apache-2.0
#include "receive/card/datagram_blocks.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t smallest_block = 65536, line_bytes = 64;

class BlocksRig {
  public:
    explicit BlocksRig(const DatagramBlocksConfig& config) : blocks(config) {}

    /// A datagram filled with a number of its own; the memory that it came in is used again for the next.
    bool add(std::size_t n_bytes) {
        received_.assign(n_bytes, static_cast<std::byte>(n_added_));
        const bool was_taken = blocks.try_add({.bytes = received_, .stream = n_added_});
        n_added_ = static_cast<std::uint16_t>(n_added_ + (was_taken ? 1 : 0));
        return was_taken;
    }
    /// How many datagrams the next block holds, each as it was added; 0: there is no block.
    std::size_t take() {
        std::span<const Datagram> datagrams;
        if (!blocks.try_take(datagrams, taken)) return 0;
        for (const Datagram& datagram : datagrams) {
            EXPECT_EQ(datagram.stream, n_taken_);
            EXPECT_THAT(datagram.bytes, testing::Each(static_cast<std::byte>(n_taken_)));
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(datagram.bytes.data()) % line_bytes, 0U);
            ++n_taken_;
        }
        return datagrams.size();
    }

    DatagramBlocks blocks;
    std::uint32_t taken = 0;  ///< the block of the last take()

  private:
    std::vector<std::byte> received_;
    std::uint16_t n_added_ = 0, n_taken_ = 0;
};

TEST(DatagramBlocks, DatagramsComeOutAsTheyWentIn) {
    DatagramBlocks blocks({});
    const std::vector<std::byte> bytes(100, std::byte{7});
    const SourceAddress source(0x0a000005, 4711);
    ASSERT_TRUE(blocks.try_add({.bytes = bytes, .stream = 3, .cut = true, .kernel_ns = 12, .source = source}));
    ASSERT_TRUE(blocks.try_add({}));
    blocks.hand_on();
    std::span<const Datagram> datagrams;
    std::uint32_t block = 0;
    ASSERT_TRUE(blocks.try_take(datagrams, block));
    ASSERT_EQ(datagrams.size(), 2U);
    EXPECT_THAT(datagrams[0].bytes, testing::ElementsAreArray(bytes));
    EXPECT_EQ(datagrams[0].stream, 3U);
    EXPECT_TRUE(datagrams[0].cut);
    EXPECT_EQ(datagrams[0].kernel_ns, 12);
    EXPECT_EQ(datagrams[0].source, source);
    EXPECT_TRUE(datagrams[1].bytes.empty());
}

TEST(DatagramBlocks, ABlockIsHandedOnWhenNoMoreDatagramsFit) {
    BlocksRig rig({.n_blocks = 4, .block_bytes = smallest_block, .max_datagrams = 3});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(rig.add(100));
    EXPECT_TRUE(rig.blocks.is_empty()) << "full, but nothing has come since";
    EXPECT_TRUE(rig.blocks.has_open());
    ASSERT_TRUE(rig.add(100));
    EXPECT_EQ(rig.take(), 3U);
    EXPECT_EQ(rig.take(), 0U);
    rig.blocks.hand_on();
    EXPECT_FALSE(rig.blocks.has_open());
    rig.blocks.hand_on();
    EXPECT_EQ(rig.take(), 1U);
    EXPECT_EQ(rig.take(), 0U) << "an empty block is not handed on";
}

TEST(DatagramBlocks, ABlockIsHandedOnWhenNoMoreBytesFit) {
    BlocksRig rig({.n_blocks = 4, .block_bytes = smallest_block, .max_datagrams = 10});
    ASSERT_TRUE(rig.add(smallest_block - 2 * line_bytes));
    ASSERT_TRUE(rig.add(1));
    ASSERT_TRUE(rig.add(line_bytes)) << "exactly what is left: a datagram begins on a line of its own";
    EXPECT_TRUE(rig.blocks.is_empty());
    ASSERT_TRUE(rig.add(1));
    EXPECT_EQ(rig.take(), 3U);
    ASSERT_TRUE(rig.add(smallest_block)) << "the longest that there can be";
    rig.blocks.hand_on();
    EXPECT_FALSE(rig.add(smallest_block + 1));
    EXPECT_FALSE(rig.blocks.has_open()) << "what no block can hold opens none";
}

TEST(DatagramBlocks, WithoutAFreeBlockDatagramsAreRefusedUntilOneComesBack) {
    BlocksRig rig({.n_blocks = 2, .block_bytes = smallest_block, .max_datagrams = 1});
    ASSERT_TRUE(rig.add(100));
    ASSERT_TRUE(rig.add(100));
    EXPECT_FALSE(rig.add(100));
    EXPECT_FALSE(rig.add(100));
    EXPECT_EQ(rig.take(), 1U);
    EXPECT_FALSE(rig.add(100)) << "taken is not given back";
    rig.blocks.give_back(rig.taken);
    EXPECT_TRUE(rig.add(100));
    EXPECT_FALSE(rig.add(100));
    EXPECT_EQ(rig.take(), 1U);
    rig.blocks.give_back(rig.taken);
    rig.blocks.hand_on();
    EXPECT_EQ(rig.take(), 1U);
}

TEST(DatagramBlocks, ThereIsRoomForABatchOrForHalfOfAllBlocks) {
    DatagramBlocks blocks({.n_blocks = 6, .block_bytes = 2 * smallest_block, .max_datagrams = 100});
    const auto take_one = [&] {
        blocks.try_add({});
        blocks.hand_on();
    };
    EXPECT_TRUE(blocks.has_room(1000)) << "as much as half of the blocks is enough for any batch";
    for (int i = 0; i < 3; ++i) take_one();
    EXPECT_TRUE(blocks.has_room(1000));
    take_one();
    EXPECT_FALSE(blocks.has_room(1000));
    EXPECT_FALSE(blocks.has_room(4)) << "of the longest, two fit into a block, and one may already be begun";
    EXPECT_TRUE(blocks.has_room(3));
    take_one();
    EXPECT_FALSE(blocks.has_room(2));
    EXPECT_TRUE(blocks.has_room(1));
    take_one();
    EXPECT_FALSE(blocks.has_room(1));
}

TEST(DatagramBlocks, MemoryOfTheCallersIsDividedAmongThem) {
    std::vector<std::byte> memory(4 * smallest_block + 64);
    DatagramBlocks blocks({.n_blocks = 4, .max_datagrams = 64, .given = memory});
    EXPECT_EQ(blocks.buffers().kind(), memory::Kind::given);
    const std::vector<std::byte> content(smallest_block, std::byte{5});
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(blocks.try_add({.bytes = content}));
    EXPECT_FALSE(blocks.try_add({.bytes = content}));
    blocks.hand_on();
    std::span<const Datagram> datagrams;
    for (std::uint32_t block = 0, n = 0; n < 4; ++n) {
        ASSERT_TRUE(blocks.try_take(datagrams, block));
        EXPECT_TRUE(std::ranges::equal(datagrams[0].bytes, content));
        EXPECT_GE(datagrams[0].bytes.data(), memory.data());
        EXPECT_LE(datagrams[0].bytes.data() + smallest_block, memory.data() + memory.size());
    }
    const std::span<std::byte> too_small = std::span(memory).first(4 * smallest_block - 64);
    EXPECT_THROW(DatagramBlocks({.n_blocks = 4, .given = too_small}), ConfigError);
}

TEST(DatagramBlocks, BlocksThatHoldNoDatagramAreRefused) {
    EXPECT_THROW(DatagramBlocks({.block_bytes = smallest_block - 1}), ConfigError);
    EXPECT_THROW(DatagramBlocks({.max_datagrams = 0}), ConfigError);
    EXPECT_THROW(DatagramBlocks({.max_datagrams = 65537}), ConfigError);
    EXPECT_NO_THROW(DatagramBlocks({.n_blocks = 2, .block_bytes = smallest_block, .max_datagrams = 65536}));
}

}  // namespace
}  // namespace anello::receive
