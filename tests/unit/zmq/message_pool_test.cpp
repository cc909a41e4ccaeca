// SPDX-License-Identifier: Apache-2.0
#include "message_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "memory/spsc_ring.hpp"
#include "seed.hpp"

namespace anello::zeromq {
namespace {

constexpr std::size_t header_bytes = 40, keep_bytes = std::size_t{64} << 20;

bool data_is_aligned(const void* memory) {
    return (reinterpret_cast<std::uintptr_t>(memory) + header_bytes) % 64 == 0;
}

TEST(MessagePool, GivesMemoryThatHoldsEveryByteOfAnySize) {
    MessagePool pool(keep_bytes);
    std::mt19937_64 random(anello::test::seed());
    std::vector<std::size_t> sizes{MessagePool::smallest_bytes, 40960, 40961, 65536, 65537, 1 << 20, (1 << 20) + 1};
    for (int i = 0; i < 200; ++i) sizes.push_back(MessagePool::smallest_bytes + random() % (std::size_t{5} << 20));
    for (const std::size_t n_bytes : sizes) {
        void* const memory = pool.try_take(header_bytes, n_bytes);
        ASSERT_NE(memory, nullptr) << n_bytes;
        EXPECT_TRUE(data_is_aligned(memory));
        std::memset(memory, 0x5a, header_bytes + n_bytes);
        pool.give_back(memory);
    }
    EXPECT_LE(pool.idle_bytes(), keep_bytes);
}

TEST(MessagePool, RefusesWhatIsNotForIt) {
    MessagePool pool(keep_bytes);
    EXPECT_EQ(pool.try_take(header_bytes, MessagePool::smallest_bytes - 1), nullptr);
    EXPECT_EQ(pool.try_take(header_bytes, MessagePool::largest_bytes + 1), nullptr);
    EXPECT_EQ(pool.try_take(header_bytes, SIZE_MAX), nullptr);
    EXPECT_EQ(pool.try_take(65, MessagePool::smallest_bytes), nullptr);
    void* const largest = pool.try_take(header_bytes, MessagePool::largest_bytes);
    ASSERT_NE(largest, nullptr);
    static_cast<char*>(largest)[header_bytes + MessagePool::largest_bytes - 1] = 1;
    pool.give_back(largest);
    EXPECT_EQ(pool.idle_bytes(), 0u) << "more than it may keep";
}

TEST(MessagePool, TheBlockFreedLastIsGivenNext) {
    MessagePool pool(keep_bytes);
    void* const first = pool.try_take(header_bytes, 100'000);
    void* const second = pool.try_take(header_bytes, 100'000);
    EXPECT_NE(first, second);
    pool.give_back(first);
    pool.give_back(second);
    EXPECT_EQ(pool.try_take(header_bytes, 100'001), second);
    EXPECT_EQ(pool.try_take(header_bytes, 99'999), first);
    EXPECT_EQ(pool.idle_bytes(), 0u);
    pool.give_back(first);
    pool.give_back(second);
}

TEST(MessagePool, MessagesOfANewSizeDriveThoseOfAFormerOut) {
    constexpr std::size_t small = 100'000, large = std::size_t{4} << 20;
    MessagePool pool(std::size_t{5} << 20);
    std::vector<void*> blocks;
    for (int i = 0; i < 60; ++i) blocks.push_back(pool.try_take(header_bytes, small));
    for (void* block : blocks) pool.give_back(block);
    EXPECT_LE(pool.idle_bytes(), std::size_t{5} << 20);
    void* const memory = pool.try_take(header_bytes, large);
    pool.give_back(memory);
    EXPECT_LE(pool.idle_bytes(), std::size_t{5} << 20);
    EXPECT_EQ(pool.try_take(header_bytes, large), memory) << "kept";
    pool.give_back(memory);
}

TEST(MessagePool, OneThreadTakesAndAnotherGivesBack) {
    MessagePool pool(std::size_t{1} << 20);
    memory::SpscRing<unsigned char*> messages(16);
    constexpr int n_messages = 20'000;
    std::thread user([&] {
        for (int i = 0; i < n_messages; ++i) {
            unsigned char* message = nullptr;
            while (!messages.try_take(message)) std::this_thread::yield();
            EXPECT_EQ(message[header_bytes], static_cast<unsigned char>(i));
            pool.give_back(message);
        }
    });
    for (int i = 0; i < n_messages; ++i) {
        auto* const message = static_cast<unsigned char*>(
            pool.try_take(header_bytes, MessagePool::smallest_bytes + static_cast<std::size_t>(i % 8) * 16'384));
        message[header_bytes] = static_cast<unsigned char>(i);
        while (!messages.try_give(message)) std::this_thread::yield();
    }
    user.join();
    EXPECT_LE(pool.idle_bytes(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace anello::zeromq
