// SPDX-License-Identifier: Apache-2.0
#include "camera/send/writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "camera/chain/outlet_config.hpp"
#include "camera/send/event_encoder.hpp"
#include "camera/tests/camera_event.hpp"
#include "core/errors.hpp"
#include "wire/bytes.hpp"

namespace anello::camera::writer_test {
namespace {

constexpr test::CameraLayout layout{.n_boards = 12, .boards_per_group = 12};
const TableShape table_shape{layout.n_boards, layout.n_gains, layout.n_pixels, layout.n_samples};

class CameraFile : public testing::Test {
  protected:
    CameraFile() {
        directory_ = std::filesystem::temp_directory_path() /
                     ("anello_camera_" + std::to_string(getpid()) + "_" + name_of_test());
        std::filesystem::create_directories(directory_);
        path = directory_ / "camera.h5";
    }
    ~CameraFile() override { std::filesystem::remove_all(directory_); }

    static std::string name_of_test() {
        std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
        std::ranges::replace(name, '/', '_');
        return name;
    }

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
    /// Along the first dimension.
    std::size_t rows_of(const char* name, std::filesystem::path of = {}) const {
        const hid_t file = H5Fopen((of.empty() ? path : of).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
        const hid_t space = H5Dget_space(dataset);
        std::array<hsize_t, 5> sizes{};
        H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
        H5Sclose(space);
        H5Dclose(dataset);
        H5Fclose(file);
        return sizes[0];
    }
    /// Row e of a column of chunks. filters: the column's.
    std::vector<std::byte> chunk(const char* name, hsize_t e, const std::vector<std::uint32_t>& filters,
                                 std::size_t n_bytes) const {
        const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
        const std::array<hsize_t, 5> begin{e};
        hsize_t n_stored = 0;
        EXPECT_GE(H5Dget_chunk_storage_size(dataset, begin.data(), &n_stored), 0);
        std::vector<std::byte> stored(n_stored), decoded(n_bytes);
        std::uint32_t skipped = 0, done = 0;
        EXPECT_GE(H5Dread_chunk(dataset, H5P_DEFAULT, begin.data(), &skipped, stored.data()), 0);
        for (std::size_t i = 0; i < filters.size(); ++i) done |= ((skipped >> i) & 1) == 0 ? filters[i] : 0;
        ChunkDecoder decoder;
        EXPECT_TRUE(decoder.decode(stored, done, decoded)) << name << ' ' << e;
        H5Dclose(dataset);
        H5Fclose(file);
        return decoded;
    }
    /// Events that differ in their number, boards and samples.
    void write(CameraWriter& writer, std::uint32_t n_events) {
        for (std::uint32_t e = 0; e < n_events; ++e) {
            test::CameraEvent event(layout, e);
            event.set_sample(0, 0, 0, 0, static_cast<std::uint16_t>(e));
            if (e % 3 == 0) event.remove(5);
            event.set_trigger_tag(e % 3 == 0 ? wire::camera::tag_pedestal : wire::camera::tag_mono);
            Verdict verdict;
            verdict.kept_by = KeptBy::prescale;
            verdict.charge_sum = static_cast<float>(e) / 2;
            writer.write(event.view(), verdict, encoder.encode(choices, true, event.view(), encoded_));
        }
    }

    std::filesystem::path path;
    CounterPage page;
    CompressionChoices choices{{}};
    EventEncoder encoder{{.compression = {}, .records = true, .table = table_shape},
                         test::CameraEvent(layout).view().shape};

  private:
    std::filesystem::path directory_;
    std::vector<std::byte> encoded_ = std::vector<std::byte>(encoder.max_bytes());
};

/// What holds for both formats.
class EachFormat : public CameraFile, public testing::WithParamInterface<FileFormat> {
  protected:
    CameraWriterConfig with(std::uint32_t chunk_bytes = 16U << 20, std::uint32_t chunk_events = 4096) const {
        CameraWriterConfig config{.path = path, .chunk_bytes = chunk_bytes, .chunk_events = chunk_events};
        if (GetParam() == FileFormat::table) config.table = table_shape;
        return config;
    }
};
INSTANTIATE_TEST_SUITE_P(Formats, EachFormat, testing::Values(FileFormat::table, FileFormat::records),
                         [](const auto& given) { return std::string(word_of(given.param)); });

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

TEST_P(EachFormat, WhatCannotBeHeldIsLostAndCounted) {
    CameraWriter writer(with(1024), page);
    const std::vector<std::byte> bytes(1025);
    const test::CameraEvent event(layout);
    const auto of_length = [&](std::size_t n_bytes) {
        EncodedEvent encoded{.record = std::span(bytes).first(n_bytes)};
        encoded.table.waveform = encoded.table.headers = {bytes.data(), 512, 0};
        encoded.table.waveform.n_bytes = n_bytes - 512;
        return encoded;
    };
    writer.write(event.view(), {}, of_length(1025));
    writer.write(event.view(), {}, of_length(1024));
    EXPECT_TRUE(writer.close());
    writer.write(event.view(), {}, of_length(1024));
    EXPECT_EQ(writer.counters()[CameraStoreCounter::events_seen], 3U);
    EXPECT_EQ(writer.counters()[CameraStoreCounter::events_stored], 1U);
    EXPECT_EQ(writer.counters()[CameraStoreCounter::events_lost], 2U);
}

TEST_P(EachFormat, WhatHasComeIsSafeWithinASecond) {
    CameraWriter writer(with(), page);
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
TEST_P(EachFormat, AFullDiskLosesChunksInAllColumnsAlikeAndGoesOn) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    CameraWriter writer(with(1 << 16, 1000), page);
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
    if (GetParam() == FileFormat::records) {
        EXPECT_EQ(read<std::byte>("records", H5T_NATIVE_UINT8).size(), counters[CameraStoreCounter::bytes_stored]);
    } else {
        EXPECT_EQ(rows_of("waveform"), counters[CameraStoreCounter::events_stored]);
        EXPECT_EQ(rows_of("headers"), counters[CameraStoreCounter::events_stored]);
        EXPECT_EQ(read<std::uint8_t>("present", H5T_NATIVE_UINT8).size(),
                  counters[CameraStoreCounter::events_stored] * layout.n_boards);
    }
}

/// Without HDF5's filters, which belong to readers (test_camera_table.py): chunks as they are.
TEST_F(CameraFile, TheTableHoldsEverySampleAndHeaderAcrossChunks) {
    constexpr std::uint32_t n_events = 100;
    CameraWriter writer({.path = path, .chunk_bytes = 8192, .chunk_events = 16, .table = table_shape}, page);
    write(writer, n_events);
    ASSERT_TRUE(writer.close());
    ASSERT_EQ(rows_of("waveform"), n_events);
    const auto present = read<std::uint8_t>("present", H5T_NATIVE_UINT8);
    ASSERT_EQ(present.size(), n_events * layout.n_boards);
    for (std::uint32_t e = 0; e < n_events; ++e) {
        test::CameraEvent event(layout, e);
        event.set_sample(0, 0, 0, 0, static_cast<std::uint16_t>(e));
        if (e % 3 == 0) event.remove(5);
        const auto waveform = chunk("waveform", e, {by_bytes, by_bits, by_zstd}, table_shape.waveform_bytes());
        const auto headers = chunk("headers", e, {by_zstd}, table_shape.header_bytes());
        for (std::uint32_t board = 0; board < layout.n_boards; ++board) {
            const bool is_present = event.view().present.contains(board);
            EXPECT_EQ(present[e * layout.n_boards + board], is_present ? 1 : 0);
            const std::vector<std::byte> nothing(event.view().shape.slot_bytes());
            const std::byte* const slot = is_present ? event.slot(board) : nothing.data();
            ASSERT_EQ(std::memcmp(headers.data() + board * 64, slot, 64), 0) << e << ' ' << board;
            ASSERT_EQ(
                std::memcmp(waveform.data() + board * table_shape.board_bytes(), slot + 64, table_shape.board_bytes()),
                0);
        }
    }
}

TEST_F(CameraFile, ABoardOfAnotherShapeLeavesItsHeaderAndIsCounted) {
    CameraWriter writer({.path = path, .table = table_shape}, page);
    test::CameraEvent event(layout);
    event.reshape(4, layout.n_samples, layout.n_pixels, 1, layout.payload_bytes() / 2);
    std::vector<std::byte> room(encoder.max_bytes());
    writer.write(event.view(), {}, encoder.encode(choices, true, event.view(), room));
    ASSERT_TRUE(writer.close());
    EXPECT_EQ(writer.counters()[CameraStoreCounter::boards_misfit], 1U);
    EXPECT_EQ(writer.counters()[CameraStoreCounter::events_stored], 1U);
    std::vector<std::uint8_t> expected(layout.n_boards, 1);
    expected[4] = 0;
    EXPECT_EQ(read<std::uint8_t>("present", H5T_NATIVE_UINT8), expected);
    const auto headers = chunk("headers", 0, {by_zstd}, table_shape.header_bytes());
    EXPECT_EQ(std::memcmp(headers.data() + 4 * 64, event.slot(4), 64), 0);
}

TEST_F(CameraFile, TheTablesFilesFollowEachOther) {
    CameraWriter writer(
        {.path = path, .chunk_bytes = 1 << 16, .rules = {.about = {}, .max_bytes = 2'000'000}, .table = table_shape},
        page);
    write(writer, 2000);
    ASSERT_TRUE(writer.close());
    std::size_t n_rows = 0, n_files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
        n_rows += rows_of("waveform", entry.path());
        ++n_files;
    }
    EXPECT_GT(n_files, 1U);
    EXPECT_EQ(n_rows, 2000U);
}

}  // namespace
}  // namespace anello::camera::writer_test
