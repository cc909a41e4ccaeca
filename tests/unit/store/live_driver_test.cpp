// SPDX-License-Identifier: Apache-2.0
/// Differences between versions of HDF5, and between HDF5 libraries in one process: the driver's struct, and filters.
#include "store/live_driver.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <vector>

#include "store/column_file.hpp"

namespace anello::store {
namespace {

class LiveDriver : public testing::Test {
  protected:
    LiveDriver()
        : directory_(std::filesystem::temp_directory_path() / ("live_driver_test_" + std::to_string(getpid()))) {
        std::filesystem::create_directories(directory_);
    }
    ~LiveDriver() override { std::filesystem::remove_all(directory_); }

    const std::filesystem::path directory_;
};

/// Goes through all of the driver's calls, and not through another driver that HDF5 might take instead.
TEST_F(LiveDriver, WritesAndReads) {
    const std::string path = directory_ / "live.h5";
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    ASSERT_TRUE(set_live_driver(access, Disk::system())) << "HDF5 does not take the driver";
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access);
    ASSERT_GE(file, 0);
    const hid_t used = H5Fget_access_plist(file);
    EXPECT_EQ(H5Pget_driver(used), H5Pget_driver(access));
    EXPECT_NE(H5Pget_driver(used), H5FD_SEC2);
    std::vector<int> numbers(100'000), read(numbers.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    const hsize_t n = numbers.size();
    const hid_t space = H5Screate_simple(1, &n, nullptr);
    const hid_t dataset = H5Dcreate2(file, "numbers", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), 0);
    EXPECT_GE(H5Fflush(file, H5F_SCOPE_LOCAL), 0);
    EXPECT_GT(length_bytes(file), n * sizeof(int));
    EXPECT_GE(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), 0);
    EXPECT_EQ(read, numbers);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(used);
    H5Pclose(access);
    EXPECT_GE(H5Fclose(file), 0);
    const hid_t again = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    EXPECT_GE(again, 0) << "by HDF5's own driver";
    H5Fclose(again);
}

/// A node's environment may name the plug-ins of the analysts' HDF5, which is not the engine's.
TEST_F(LiveDriver, FiltersOfOtherProgramsAreNotLoaded) {
    ASSERT_EQ(setenv("HDF5_PLUGIN_PATH", ANELLO_FILTERS, 1), 0);
    ColumnFile file(directory_ / "columns.h5");
    file.add_column("packed", H5T_NATIVE_UINT16, "", "chunks", {1, {8}, {{ANELLO_FILTER, {}}}});
    file.start();
    const std::vector<std::uint16_t> row(8, 7);
    const Chunk chunk{row.data(), 16, 1};
    const ColumnFile::Rows all{0, &chunk, 1};
    EXPECT_TRUE(file.try_append({&all, 1})) << file.last_error();
    EXPECT_TRUE(file.close());
    EXPECT_EQ(H5Zfilter_avail(ANELLO_FILTER), 0);
}

/// The test above stands only if HDF5 would load that plug-in.
TEST_F(LiveDriver, TheFilterOfTheTestIsOneThatHdf5Loads) {
    ASSERT_EQ(setenv("HDF5_PLUGIN_PATH", ANELLO_FILTERS, 1), 0);
    ASSERT_GE(H5open(), 0);
    unsigned before = 0;
    H5PLget_loading_state(&before);
    H5PLset_loading_state(H5PL_ALL_PLUGIN);
    H5PLprepend(ANELLO_FILTERS);  // an earlier test of this process may have had HDF5 read the variable
    EXPECT_GT(H5Zfilter_avail(ANELLO_FILTER), 0);
    H5Zunregister(ANELLO_FILTER);
    H5PLset_loading_state(before);
}

TEST_F(LiveDriver, WhatHdf5RefusesIsToldInItsWords) {
    ColumnFile file(directory_ / "columns.h5");
    file.add_column("no/such/group", H5T_NATIVE_UINT16, "", "nothing", 8);
    try {
        file.start();
        FAIL();
    } catch (const std::exception& error) {
        EXPECT_NE(std::string(error.what()).find("create the column no/such/group (HDF5: "), std::string::npos)
            << error.what();
        EXPECT_EQ(std::string(error.what()).find("Success"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace anello::store
