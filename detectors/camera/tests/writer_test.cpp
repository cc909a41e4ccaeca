// SPDX-License-Identifier: Apache-2.0
#include "camera/send/writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "camera/send/record.hpp"
#include "camera/tests/camera_event.hpp"
#include "core/errors.hpp"
#include "wire/bytes.hpp"

namespace anello::camera {
namespace {

constexpr test::CameraLayout layout{.n_boards = 12, .boards_per_group = 12};

class CameraFile : public testing::Test {
  protected:
    CameraFile() {
        directory_ =
            std::filesystem::temp_directory_path() / ("anello_camera_" + std::to_string(getpid()) + "_" +
                                                      testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::create_directories(directory_);
        path = directory_ / "camera.h5";
    }
    ~CameraFile() override { std::filesystem::remove_all(directory_); }

    template <typename T>
    std::vector<T> read(const char* name, hid_t type) const {
        const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
        const hid_t space = H5Dget_space(dataset);
        std::vector<T> rows(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
        EXPECT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), 0) << name;
        H5Sclose(space);
        H5Dclose(dataset);
        H5Fclose(file);
        return rows;
    }
    /// Events that differ in their number, boards and samples.
    void write(CameraWriter& writer, std::uint32_t n_events) {
        for (std::uint32_t e = 0; e < n_events; ++e) {
            test::CameraEvent event(layout, e);
            event.set_sample(0, 0, 0, 0, static_cast<std::uint16_t>(e));
            if (e % 3 == 0) event.remove(5);
            event.set_trigger_tag(e % 3 == 0 ? wire::camera::tag_pedestal : wire::camera::tag_mono);
            const std::span<const std::byte> record = encoder.encode_event(event.view(), record_).record;
            Verdict verdict;
            verdict.kept_by = KeptBy::prescale;
            verdict.charge_sum = static_cast<float>(e) / 2;
            writer.write(event.view(), verdict, record);
        }
    }

    std::filesystem::path path;
    CounterPage page;
    CameraEncoder encoder{{}, test::CameraEvent(layout).view().shape};

  private:
    std::filesystem::path directory_;
    std::vector<std::byte> record_ = std::vector<std::byte>(encoder.max_record_bytes());
};

TEST_F(CameraFile, GivesEveryRecordBackAcrossChunks) {
    CameraWriter writer({.path = path, .chunk_bytes = 4096, .chunk_events = 64}, page);
    write(writer, 500);
    ASSERT_TRUE(writer.close());
    EXPECT_GT(writer.counters()[CameraStoreCounter::chunks_written], 8U);
    const auto numbers = read<std::uint32_t>("event_number", H5T_NATIVE_UINT32);
    const auto n_present = read<std::uint16_t>("n_present", H5T_NATIVE_UINT16);
    const auto tags = read<std::uint8_t>("trigger_tag", H5T_NATIVE_UINT8);
    const auto charge_sum = read<float>("charge_sum", H5T_NATIVE_FLOAT);
    const auto offset = read<std::uint64_t>("record_offset", H5T_NATIVE_UINT64);
    const auto length = read<std::uint32_t>("record_bytes", H5T_NATIVE_UINT32);
    const auto records = read<std::byte>("records", H5T_NATIVE_UINT8);
    EXPECT_EQ(read<std::uint8_t>("kept_by", H5T_NATIVE_UINT8), std::vector<std::uint8_t>(500, 4));
    ASSERT_EQ(numbers.size(), 500U);
    EXPECT_EQ(writer.counters()[CameraStoreCounter::bytes_stored], records.size());
    CameraDecoder decoder;
    CameraRecord record;
    for (std::uint32_t e = 0; e < 500; ++e) {
        EXPECT_EQ(numbers[e], e);
        EXPECT_EQ(n_present[e], e % 3 == 0 ? 11 : 12);
        EXPECT_EQ(tags[e], e % 3 == 0 ? 32 : 1);
        EXPECT_EQ(charge_sum[e], static_cast<float>(e) / 2);
        ASSERT_EQ(decoder.decode(std::span(records).subspan(offset[e], length[e]), record), RecordVerdict::ok);
        EXPECT_EQ(record.header.event_number, e);
        EXPECT_EQ(wire::load_le<std::uint16_t>(record.waveforms.data()), e);
    }
}

TEST_F(CameraFile, WhatCannotBeHeldIsLostAndCounted) {
    CameraWriter writer({.path = path, .chunk_bytes = 1024}, page);
    const std::vector<std::byte> too_long(1025), fits(1024);
    const test::CameraEvent event(layout);
    writer.write(event.view(), {}, too_long);
    writer.write(event.view(), {}, fits);
    EXPECT_TRUE(writer.close());
    writer.write(event.view(), {}, fits);
    EXPECT_EQ(writer.counters()[CameraStoreCounter::events_seen], 3U);
    EXPECT_EQ(writer.counters()[CameraStoreCounter::events_stored], 1U);
    EXPECT_EQ(writer.counters()[CameraStoreCounter::events_lost], 2U);
}

TEST_F(CameraFile, WhatHasComeIsSafeWithinASecond) {
    CameraWriter writer({.path = path}, page);
    write(writer, 3);
    writer.save(store::save_every_ns);
    write(writer, 3);
    writer.save(2 * store::save_every_ns - 1);  // not yet
    EXPECT_EQ(writer.counters()[CameraStoreCounter::events_stored], 3U);
    EXPECT_EQ(writer.counters()[CameraStoreCounter::chunks_written], 1U);
}

TEST_F(CameraFile, SetUpErrorsNameTheCause) {
    EXPECT_THROW(CameraWriter({.path = path.parent_path() / "nowhere" / "x.h5"}, page), SystemError);
    EXPECT_THROW(CameraWriter({.path = ""}, page), ConfigError);
    EXPECT_THROW(CameraWriter({.path = path, .chunk_bytes = 10}, page), ConfigError);
    EXPECT_THROW(CameraWriter({.path = path, .chunk_events = 0}, page), ConfigError);
}

/// A full disk: the limit of this process on file size stands in for it, since the system refuses in the same way.
TEST_F(CameraFile, AFullDiskLosesChunksInAllColumnsAlikeAndGoesOn) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    CameraWriter writer({.path = path, .chunk_bytes = 1 << 16, .chunk_events = 1000}, page);
    rlimit small = before;
    small.rlim_cur = 2'500'000;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    write(writer, 12'000);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_FALSE(writer.close());
    const auto& counters = writer.counters();
    EXPECT_GT(counters[CameraStoreCounter::errors], 0U);
    EXPECT_GT(counters[CameraStoreCounter::events_lost], 0U);
    EXPECT_GT(counters[CameraStoreCounter::events_stored], 0U);
    EXPECT_EQ(counters[CameraStoreCounter::events_stored] + counters[CameraStoreCounter::events_lost], 12'000U);
    EXPECT_THAT(writer.last_error(), testing::HasSubstr("File too large"));
    EXPECT_EQ(read<std::uint32_t>("event_number", H5T_NATIVE_UINT32).size(),
              counters[CameraStoreCounter::events_stored]);
    EXPECT_EQ(read<std::byte>("records", H5T_NATIVE_UINT8).size(), counters[CameraStoreCounter::bytes_stored]);
}

}  // namespace
}  // namespace anello::camera
