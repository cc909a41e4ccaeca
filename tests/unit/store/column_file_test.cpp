// SPDX-License-Identifier: Apache-2.0
#include "store/column_file.hpp"

#include "core/errors.hpp"
#include "unit/store/column_rig.hpp"

namespace anello::store {
namespace {

using ColumnFileTest = test::ColumnRig;

TEST_F(ColumnFileTest, AFileCanBeReadWhileItGrows) {
    ColumnFile file(path());
    define(file, 64);
    for (std::uint64_t first = 0; first < 1000; first += 100) {
        append(file, first, 100);
        flush(file);
        expect_whole("while it is written");
    }
    EXPECT_TRUE(file.close());
    expect_whole("at the end");
}

/// Rows of one append are never in two files; each file counts its rows from 0.
TEST_F(ColumnFileTest, ANewFileBeginsWhereOneHasItsSize) {
    {
        ColumnFile file(path(), {.about = {{"run_number", std::uint64_t{41}}}, .max_bytes = 2'000'000});
        define(file, 1000);
        for (std::uint64_t first = 0; first < 30'000; first += 1000) append(file, first, 1000);
        EXPECT_TRUE(file.close());
    }
    std::vector<std::uint64_t> all;
    std::size_t n_files = 0;
    for (std::string name = "columns.h5"; std::filesystem::exists(directory_ / name);) {
        const hid_t file = H5Fopen((directory_ / name).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        ASSERT_GE(file, 0) << name;
        EXPECT_GT(H5Aexists(file, "run_number"), 0) << name;
        const auto number = column<std::uint64_t>(file, "number", H5T_NATIVE_UINT64);
        const auto twice = column<std::uint64_t>(file, "twice", H5T_NATIVE_UINT64);
        H5Fclose(file);
        name = "columns-000" + std::to_string(++n_files) + ".h5";
        ASSERT_EQ(twice.size(), 2 * number.size());
        ASSERT_EQ(number.size() % 1000, 0U);
        all.insert(all.end(), number.begin(), number.end());
    }
    EXPECT_GT(n_files, 1U);
    ASSERT_EQ(all.size(), 30'000U);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i);
}

TEST_F(ColumnFileTest, AFileThatExistsIsNotReplaced) {
    {
        ColumnFile file(path());
        define(file, 64);
        append(file, 0, 10);
    }
    ColumnFile second(path());
    EXPECT_THROW(define(second, 64), SystemError);
    expect_whole("the first");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

}  // namespace
}  // namespace anello::store
