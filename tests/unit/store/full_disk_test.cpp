// SPDX-License-Identifier: Apache-2.0
/// A disk that is full, and has room again: a file system of a few megabytes in memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "store/column_file.hpp"
#include "store/record_file.hpp"

namespace anello::store {
namespace {

class FullDisk : public testing::Test {
  protected:
    FullDisk() : disk_(std::filesystem::temp_directory_path() / ("full_disk_test_" + std::to_string(getpid()))) {
        std::filesystem::create_directories(disk_);
    }
    void SetUp() override {
        if (mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=4m") != 0)
            GTEST_SKIP() << "cannot mount a file system: " << std::strerror(errno);
        is_mounted_ = true;
    }
    ~FullDisk() override {
        if (is_mounted_) umount2(disk_.c_str(), MNT_DETACH);
        std::filesystem::remove_all(disk_);
    }

    std::string path(const char* name) const { return disk_ / name; }
    /// Another program takes all that is left.
    void fill() {
        std::ofstream other(path("other"), std::ios::binary);
        const std::vector<char> block(4096);
        while (other.write(block.data(), block.size()).flush()) {
        }
    }
    void make_room() { std::filesystem::remove(path("other")); }

  private:
    const std::filesystem::path disk_;
    bool is_mounted_ = false;
};

std::vector<std::uint32_t> numbers_in(const std::string& path) {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "number", H5P_DEFAULT), space = H5Dget_space(dataset);
    std::vector<std::uint32_t> rows(
        static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space))));
    EXPECT_GE(H5Dread(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), 0) << path;
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    return rows;
}

TEST_F(FullDisk, ColumnsAreRefusedWholeAndGoOnInTheSameFile) {
    ColumnFile file(path("columns.h5"));
    file.add_column("number", H5T_NATIVE_UINT32, "", "counts", 10'000);
    file.start();
    std::vector<std::uint32_t> rows(1000), taken;
    std::uint32_t next = 0;
    const auto append = [&] {
        for (std::uint32_t& row : rows) row = next++;
        const ColumnFile::Rows all{0, rows.data(), rows.size()};
        const bool is_taken = file.try_append({&all, 1});
        if (is_taken) taken.insert(taken.end(), rows.begin(), rows.end());
        return is_taken && file.flush();
    };
    ASSERT_TRUE(append());
    fill();
    while (append()) ASSERT_LT(next, 2'000'000U);
    EXPECT_TRUE(file.refusal().is_on());
    EXPECT_NE(file.refusal().state(file.path()).find("No space left on device"), std::string::npos);
    EXPECT_NE(file.refusal().take_news(file.path(), "rows are lost").find("rows are lost"), std::string::npos);
    EXPECT_FALSE(append());
    EXPECT_EQ(file.refusal().take_news(file.path(), "rows"), "") << "reported once";
    EXPECT_EQ(numbers_in(path("columns.h5")), taken) << "while the disk is full";
    make_room();
    EXPECT_TRUE(append());
    EXPECT_FALSE(file.refusal().is_on());
    EXPECT_TRUE(file.close());
    EXPECT_EQ(numbers_in(path("columns.h5")), taken);
}

TEST_F(FullDisk, ANewFileIsBegunWhenThereIsRoom) {
    ColumnFile file(path("columns.h5"), {.about = {}, .max_bytes = 1});  // one for each append
    file.add_column("number", H5T_NATIVE_UINT32, "", "counts", 1000);
    file.start();
    const std::vector<std::uint32_t> rows(1000, 7);
    const ColumnFile::Rows all{0, rows.data(), rows.size()};
    ASSERT_TRUE(file.try_append({&all, 1}));
    fill();
    EXPECT_FALSE(file.try_append({&all, 1}));
    EXPECT_TRUE(file.refusal().is_on());
    make_room();
    EXPECT_TRUE(file.try_append({&all, 1}));
    EXPECT_TRUE(file.close());
    EXPECT_EQ(numbers_in(path("columns-0001.h5")), rows);
    EXPECT_FALSE(std::filesystem::exists(path("columns-0001.h5.new")));
}

TEST_F(FullDisk, RecordsAreRefusedWholeAndGoOnInTheSameFile) {
    RecordFile file(path("records.raw"), {});
    std::vector<char> record(100'000, 'r');
    const auto write = [&] {
        iovec piece{record.data(), record.size()};
        return file.try_write({&piece, 1});
    };
    ASSERT_TRUE(write());
    std::uint64_t n_written = 1;
    while (write()) ASSERT_LT(++n_written, 1000U);
    EXPECT_TRUE(file.refusal().is_on());
    EXPECT_EQ(std::filesystem::file_size(path("records.raw")), n_written * record.size());
    fill();
    EXPECT_FALSE(write());
    make_room();
    record.resize(1000);
    EXPECT_TRUE(write());
    EXPECT_FALSE(file.refusal().is_on());
    file.close();
    EXPECT_EQ(std::filesystem::file_size(path("records.raw")), n_written * 100'000 + 1000);
}

}  // namespace
}  // namespace anello::store
