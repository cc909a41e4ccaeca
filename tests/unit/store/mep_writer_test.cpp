// SPDX-License-Identifier: Apache-2.0
#include "store/mep_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "core/errors.hpp"
#include "core/kernel_handle.hpp"
#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"

namespace anello::store {
namespace {

using Bytes = std::vector<std::byte>;

class MepWriterTest : public testing::Test {
  protected:
    MepWriterTest() : first_(16, std::byte{0xa1}), second_(21, std::byte{0xb2}), mfps_{first_, {}, second_} {}
    ~MepWriterTest() override { std::filesystem::remove(path_); }

    exchange::MepView mep(std::uint64_t number) const {
        return {.mep = number,
                .first_event = number * 5,
                .n_events = 5,
                .slot = static_cast<std::uint32_t>(number),
                .n_missing = 1,
                .built_ns = 77,
                .mfps = mfps_};
    }
    MepWriterConfig config() const { return {.path = path_, .n_slots = 8, .n_readouts = 3, .packing = 5, .run_id = 9}; }
    Bytes content() const {
        std::ifstream file(path_, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        Bytes bytes(text.size());
        std::memcpy(bytes.data(), text.data(), text.size());
        return bytes;
    }

    static constexpr std::size_t record_bytes = 48 + 16 + 16 + 24;
    const Bytes first_, second_;
    const std::vector<std::span<const std::byte>> mfps_;
    const std::string path_ =
        std::filesystem::temp_directory_path() / ("mep_writer_test_" + std::to_string(getpid()) + ".raw");
    CounterPage page_;
};

TEST_F(MepWriterTest, WritesWhatTheReferenceSays) {
    MepWriter writer(config(), page_);
    ASSERT_TRUE(writer.try_take(mep(3)));
    ASSERT_TRUE(writer.try_take(mep(4)));
    writer.close();
    std::uint32_t slot = 0;
    ASSERT_TRUE(writer.try_give_back(slot));
    EXPECT_EQ(slot, 3U);
    const Bytes bytes = content();
    ASSERT_EQ(bytes.size(), 32 + 2 * record_bytes);
    EXPECT_EQ(writer.counters()[MepStoreCounter::bytes_written], bytes.size());
    EXPECT_EQ(writer.counters()[MepStoreCounter::events_written], 10U);
    const std::span<const std::byte> record = std::span(bytes).subspan(32, record_bytes);
    EXPECT_EQ(wire::load_le<std::uint64_t>(record.data() + 8), 3U);
    EXPECT_EQ(wire::load_le<std::uint64_t>(record.data() + 16), 15U);
    EXPECT_EQ(wire::load_le<std::uint64_t>(record.data() + 32), record_bytes);
    Bytes head(record.begin(), record.begin() + 64);
    wire::store_le(head.data() + 40, std::uint32_t{0});
    EXPECT_EQ(wire::load_le<std::uint32_t>(record.data() + 40), wire::crc32c(head));
    EXPECT_TRUE(std::equal(first_.begin(), first_.end(), record.begin() + 64));
    EXPECT_TRUE(std::equal(second_.begin(), second_.end(), record.begin() + 80));
    EXPECT_EQ(record.back(), std::byte{0});
}

TEST_F(MepWriterTest, AFullDiskLosesWholeRecordsAndSaysSo) {
    struct rlimit before {};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto old = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{32 + record_bytes + 50, before.rlim_max};  // room for one and a half
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    MepWriter writer(config(), page_);
    for (std::uint64_t number = 0; number < 3; ++number) ASSERT_TRUE(writer.try_take(mep(number)));
    writer.close();
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old);
    EXPECT_EQ(writer.counters()[MepStoreCounter::meps_written], 1U);
    EXPECT_EQ(writer.counters()[MepStoreCounter::meps_lost], 2U);
    EXPECT_EQ(content().size(), 32 + record_bytes);
    const Notices notices = writer.notices();
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_NE(notices.front().text.find(path_), std::string::npos);
    EXPECT_EQ(notices.front().severity, Severity::bad);
    EXPECT_TRUE(writer.notices().empty());
    std::uint32_t slot = 0, n_back = 0;
    while (writer.try_give_back(slot)) ++n_back;
    EXPECT_EQ(n_back, 3U);
}

/// Each file has its header and whole records.
TEST_F(MepWriterTest, ANewFileBeginsWhereOneHasItsSize) {
    MepWriterConfig small = config();
    small.rules.max_bytes = 32 + 2 * record_bytes;
    const std::string second = std::filesystem::path(path_).replace_extension().string() + "-0001.raw";
    {
        MepWriter writer(small, page_);
        for (std::uint64_t number = 0; number < 3; ++number) ASSERT_TRUE(writer.try_take(mep(number)));
        writer.close();
        EXPECT_EQ(writer.counters()[MepStoreCounter::bytes_written], 2 * 32 + 3 * record_bytes);
    }
    EXPECT_EQ(content().size(), 32 + 2 * record_bytes);
    EXPECT_EQ(std::filesystem::file_size(second), 32 + record_bytes);
    std::filesystem::remove(second);
}

/// A signal cuts it, while it waits for room in a pipe.
TEST_F(MepWriterTest, AWriteThatIsCutShortGoesOnWhereItStopped) {
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    const Descriptor reading(open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const Descriptor full(open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));  // to see it only
    Bytes large(300'000);
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::byte>(i % 251);
    const std::vector<std::span<const std::byte>> mfps{large, {}, {}};
    const auto old = std::signal(SIGUSR1, [](int) {});
    MepWriter writer(config(), page_);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // so that the writer's thread gets it
    exchange::MepView whole = mep(3);
    whole.mfps = mfps;
    ASSERT_TRUE(writer.try_take(whole));
    pollfd room{full.number(), POLLOUT, 0};
    while (poll(&room, 1, 0) == 1) std::this_thread::yield();
    kill(getpid(), SIGUSR1);
    Bytes got(32 + 48 + 16 + large.size());
    for (std::size_t n = 0; n < got.size() && writer.counters()[MepStoreCounter::meps_lost] == 0;) {
        const ssize_t n_read = read(reading.number(), got.data() + n, got.size() - n);
        n += n_read > 0 ? static_cast<std::size_t>(n_read) : 0;
    }
    writer.close();
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    std::signal(SIGUSR1, old);
    EXPECT_EQ(writer.counters()[MepStoreCounter::meps_written], 1U);
    EXPECT_TRUE(std::equal(large.begin(), large.end(), got.begin() + 32 + 48 + 16));
}

TEST_F(MepWriterTest, WhatCannotBeCreatedIsNamed) {
    MepWriterConfig wrong = config();
    wrong.path = "/no/such/directory/events.raw";
    EXPECT_THROW(MepWriter(wrong, page_), SystemError);
    std::ofstream(path_) << "another run's";
    EXPECT_THROW(MepWriter(config(), page_, "replaces"), SystemError);
    EXPECT_EQ(content().size(), 13U);
    wrong.path = "/dev/full";
    EXPECT_THROW(MepWriter(wrong, page_, "again"), SystemError);
}

}  // namespace
}  // namespace anello::store
