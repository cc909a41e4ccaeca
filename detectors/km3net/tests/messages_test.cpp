// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include "core/errors.hpp"
#include "km3net/messages/message_store.hpp"

namespace anello::km3net::messages_test {
namespace {

using C = MessageCounter;
constexpr std::size_t summary_bytes = 34 + 55, l1_bytes = 34 + 56;  // of one DOM without hits

TEST(DaqMessages, ARateIsTheNearestOf255StepsFromTwoKilohertzToTwoMegahertz) {
    EXPECT_EQ(daq::rate_byte(0), 0);
    EXPECT_EQ(daq::rate_byte(2000), 0);
    EXPECT_EQ(daq::rate_byte(2055), 1);
    EXPECT_EQ(daq::rate_byte(63'245.6), 128);  // half of the logarithmic range: 127.5
    EXPECT_EQ(daq::rate_byte(2e6), 255);
    EXPECT_EQ(daq::rate_byte(1e9), 255);
}

TEST(DaqMessages, OneThatFindsNoRoomIsTakenBackWhole) {
    std::array<std::byte, 40> memory{};
    daq::Writer writer(memory);
    const auto long_one = writer.begin(daq::Type::event, {});
    for (int i = 0; i < 10; ++i) writer.put(std::uint64_t{1});
    EXPECT_FALSE(writer.end_message(long_one));
    EXPECT_TRUE(writer.bytes().empty());
    const auto short_one = writer.begin(daq::Type::event, {});
    EXPECT_TRUE(writer.end_message(short_one));
    EXPECT_EQ(writer.bytes().size(), 30U);
}

/// A slice of one DOM that sent only a trailer.
struct Rig {
    explicit Rig(const std::string& path, std::size_t buffer_bytes = 1000)
        : store({.path = path, .n_buffers = 2, .buffer_bytes = buffer_bytes}, page) {
        frames[0].has_trailer = true;
        hits.emplace_back(1);
    }
    void give(std::uint64_t number, std::uint32_t run = 7) {
        ASSERT_TRUE(store.has_room());
        Slice slice;
        slice.number = number;
        slice.run = run;
        store.write(slice, {doms, frames, hits, is_used}, {});
        store.hand_over();
    }
    std::uint64_t count(C counter) const {
        for (const auto& sample : page.read())
            if (sample.name == counter_labels<C>[static_cast<std::size_t>(counter)].name) return sample.value;
        return 0;
    }
    pipeline::Notices notices() {
        pipeline::Notices notices;
        stage.add_notices(notices);
        return notices;
    }

    CounterPage page;
    std::vector<Dom> doms = make_line({.n_doms = 1});
    std::vector<Frame> frames = std::vector<Frame>(1);
    std::vector<CalibratedHits> hits;
    std::vector<bool> is_used{true};
    MessageStore store;
    pipeline::Stage stage = store.stage();
};

struct File {
    std::string path = ::testing::TempDir() + "messages-" + std::to_string(getpid());
    ~File() { std::remove(path.c_str()); }
};

std::uint32_t word_at(const std::string& path, long at) {
    std::array<std::byte, 4> bytes{};
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    std::fseek(file, at, SEEK_SET);
    EXPECT_EQ(std::fread(bytes.data(), 4, 1, file), 1U);
    std::fclose(file);
    return wire::load_le<std::uint32_t>(bytes.data());
}

TEST(MessageStore, SlicesCountFromTheBeginOfTheirRun) {
    const File file;
    Rig rig(file.path);
    const std::array<std::pair<std::uint64_t, std::uint32_t>, 4> slices{{{500, 7}, {502, 7}, {503, 8}, {504, 8}}};
    for (const auto& [number, run] : slices) {
        rig.give(number, run);
        EXPECT_FALSE(rig.stage.is_drained());
        EXPECT_EQ(rig.stage.do_work(0), 1U);
        EXPECT_TRUE(rig.stage.is_drained());
    }
    const std::array<std::uint32_t, 4> expected{0, 2, 0, 1};
    for (std::size_t i = 0; i < slices.size(); ++i) {
        const auto at = static_cast<long>(i * (summary_bytes + l1_bytes));
        EXPECT_EQ(word_at(file.path, at + 14), slices[i].second);
        EXPECT_EQ(word_at(file.path, at + 18), expected[i]);
    }
    EXPECT_EQ(rig.count(C::written), 8U);
    EXPECT_EQ(rig.count(C::bytes_written), std::filesystem::file_size(file.path));
}

TEST(MessageStore, TheTriggerWaitsWhereTheFileIsSlow) {
    const File file;
    Rig rig(file.path);
    rig.give(1);
    rig.give(2);
    EXPECT_FALSE(rig.store.has_room());
    rig.stage.do_work(0);
    EXPECT_TRUE(rig.store.has_room());
}

TEST(MessageStore, CountsMessagesThatAreLongerThanItsMemory) {
    const File file;
    Rig rig(file.path, 64);  // too small for each of the two messages
    rig.give(1);
    rig.stage.do_work(0);
    EXPECT_EQ(rig.count(C::without_room), 2U);
    EXPECT_EQ(rig.count(C::written), 0U);
    EXPECT_EQ(std::filesystem::file_size(file.path), 0U);
}

TEST(MessageStore, ADiskThatIsFullLosesWholeMessagesAndIsNamed) {
    Rig rig("/dev/full");
    rig.give(1);
    rig.stage.do_work(0);
    EXPECT_EQ(rig.count(C::lost), 2U);
    const pipeline::Notices refused{
        {"cannot write /dev/full: No space left on device; 2 messages are lost", Severity::bad}};
    EXPECT_EQ(rig.notices(), refused);
    EXPECT_EQ(rig.notices(), pipeline::Notices{}) << "reported once";
}

TEST(MessageStore, WhatAFullDiskTookOfASliceIsTakenBack) {
    const File file;
    Rig rig(file.path);
    constexpr rlim_t limit = summary_bytes + l1_bytes + 100;
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{limit, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    for (const std::uint64_t number : {1, 2}) {
        rig.give(number);
        rig.stage.do_work(0);
    }
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(rig.count(C::written), 2U);
    EXPECT_EQ(rig.count(C::lost), 2U);
    EXPECT_EQ(std::filesystem::file_size(file.path), summary_bytes + l1_bytes);
    rig.give(3);
    rig.stage.do_work(0);
    EXPECT_EQ(std::filesystem::file_size(file.path), 2 * (summary_bytes + l1_bytes));
}

TEST(MessageStore, AFileThatCannotBeMadeIsAnErrorAtStart) {
    CounterPage page;
    EXPECT_THROW(MessageStore({.path = "/nowhere/messages.dat", .buffer_bytes = 100}, page), SystemError);
}

}  // namespace
}  // namespace anello::km3net::messages_test
