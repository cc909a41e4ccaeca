// SPDX-License-Identifier: Apache-2.0
#include "memory/persistent_buffers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "core/errors.hpp"
#include "memory/pinned_cuda.hpp"

namespace anello::memory {
namespace {

TEST(PersistentBuffers, EachBufferIsTakenOnceAndComesBack) {
    PersistentBuffers buffers({.n_buffers = 5, .buffer_bytes = 100, .kind = Kind::host});
    EXPECT_EQ(buffers.buffer_bytes(), 128U);
    std::set<std::uint32_t> taken;
    std::uint32_t buffer = 0;
    while (buffers.try_take_free(buffer)) EXPECT_TRUE(taken.insert(buffer).second);
    EXPECT_EQ(taken, (std::set<std::uint32_t>{0, 1, 2, 3, 4}));
    buffers.give_back(3);
    ASSERT_TRUE(buffers.try_take_free(buffer));
    EXPECT_EQ(buffer, 3U);
    EXPECT_FALSE(buffers.try_take_free(buffer));
}

TEST(PersistentBuffers, BuffersDoNotOverlap) {
    PersistentBuffers buffers({.n_buffers = 3, .buffer_bytes = 64, .kind = Kind::host});
    for (std::uint32_t b = 0; b < 3; ++b)
        for (std::byte& byte : buffers.bytes(b)) byte = static_cast<std::byte>(b + 1);
    for (std::uint32_t b = 0; b < 3; ++b)
        for (const std::byte byte : buffers.bytes(b)) ASSERT_EQ(byte, static_cast<std::byte>(b + 1));
}

TEST(PersistentBuffers, HugePagesOrAReasonWhyNot) {
    PersistentBuffers buffers({.n_buffers = 2, .buffer_bytes = 4096, .kind = Kind::huge});
    EXPECT_EQ(buffers.kind() == Kind::huge, buffers.kind_note().empty());
    buffers.bytes(1)[4095] = std::byte{1};
}

TEST(PersistentBuffers, PinnedMemoryOrAReasonWhyNot) {
    PersistentBuffers buffers({.n_buffers = 2, .buffer_bytes = 4096, .kind = parse_kind("pinned", {})});
    EXPECT_EQ(buffers.kind() == Kind::pinned, buffers.kind_note().empty());
    EXPECT_EQ(buffers.kind_note(), cuda_unavailable_reason());
    buffers.bytes(1)[4095] = std::byte{1};
}

/// There is no such memory without a device, and a caller that asked for it could not use another.
TEST(PersistentBuffers, MemoryOfADeviceOrAnErrorWithTheReason) {
    EXPECT_THROW(parse_kind("device", "receive.memory"), ConfigError) << "what receives here writes itself";
    const BuffersConfig config{.n_buffers = 2, .buffer_bytes = 4096, .kind = Kind::device};
    const std::string reason = cuda_unavailable_reason();
    if (reason.empty()) {
        PersistentBuffers buffers(config);
        EXPECT_STREQ(name_of(buffers.kind()), "device");
        return;
    }
    try {
        PersistentBuffers buffers(config);
        FAIL() << "no error";
    } catch (const SystemError& error) {
        EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
}

TEST(PersistentBuffers, SmallOnesAreSmallAndStaySo) {
    PersistentBuffers buffers({.n_buffers = 3, .buffer_bytes = 100, .kind = Kind::small});
    EXPECT_EQ(buffers.kind(), Kind::small);
    EXPECT_STREQ(name_of(buffers.kind()), "small");
    EXPECT_THROW(parse_kind("small", "memory.kind"), ConfigError) << "for many in one process, not for a user";
    std::uint32_t buffer = 0;
    ASSERT_TRUE(buffers.try_take_free(buffer));
    EXPECT_EQ(buffers.bytes(buffer).size(), 128U);
}

TEST(PersistentBuffers, MemoryOfTheCallersIsUsedAndNotGivenBack) {
    alignas(64) std::array<std::byte, 3 * 128> memory{};
    {
        PersistentBuffers buffers({.n_buffers = 3, .buffer_bytes = 100, .given = memory});
        EXPECT_EQ(buffers.kind(), Kind::given);
        EXPECT_EQ(buffers.kind_note(), "");
        buffers.bytes(2)[127] = std::byte{7};
    }
    EXPECT_EQ(memory.back(), std::byte{7});
    const std::span<std::byte> all(memory);
    EXPECT_THROW(PersistentBuffers({.n_buffers = 4, .buffer_bytes = 100, .given = all}), ConfigError);
    EXPECT_THROW(PersistentBuffers({.n_buffers = 2, .buffer_bytes = 100, .given = all.subspan(8)}), ConfigError);
}

TEST(PersistentBuffers, WrongSizesAreRefused) {
    EXPECT_THROW(PersistentBuffers({.n_buffers = 1, .buffer_bytes = 64, .kind = Kind::host}), ConfigError);
    EXPECT_THROW(PersistentBuffers({.n_buffers = 4, .buffer_bytes = 0, .kind = Kind::host}), ConfigError);
    EXPECT_THROW(parse_kind("disk", {}), ConfigError);
}

}  // namespace
}  // namespace anello::memory
