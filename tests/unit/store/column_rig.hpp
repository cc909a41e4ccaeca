// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "store/column_file.hpp"

namespace anello::store::test {

inline constexpr H5Z_filter_t no_such_filter = 511;  ///< of the numbers that the HDF Group leaves to tests

/// Counts that the writer reports to the reader of its file, which may be another process.
struct Told {
    std::atomic<std::uint64_t> n_appended{0}, n_flushed{0};
};

/// Writes columns of numbers, and looks whether a file has them.
class ColumnRig : public testing::Test {
  protected:
    ColumnRig()
        : directory_(std::filesystem::temp_directory_path() / ("column_file_test_" + std::to_string(getpid()))),
          told_(new (mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Told) {
        begin_again();
    }
    ~ColumnRig() override {
        std::filesystem::remove_all(directory_);
        munmap(told_, sizeof(Told));
    }

    /// A substitute for a compressed row, made from its number, with a length of its own.
    static std::array<std::uint64_t, 3> packed_of(std::uint64_t number) { return {number, ~number, number * 3}; }
    static std::size_t packed_bytes(std::uint64_t number) { return 9 + number % 16; }

    void begin_again() {
        std::filesystem::remove_all(directory_);
        std::filesystem::create_directories(directory_);
        told_->n_appended = told_->n_flushed = 0;
    }
    std::string path() const { return directory_ / "columns.h5"; }

    /// Rows of the numbers first ...: columns whose chunks differ, one with two rows of each number, one of pairs, and
    /// one of chunks that come as they are to stand in the file, of every 16th number.
    void append(ColumnFile& file, std::uint64_t first, std::size_t n) {
        std::vector<std::uint64_t> number(n), twice(2 * n);
        std::vector<std::uint8_t> low(n);
        std::vector<std::array<std::uint64_t, 3>> packed;
        std::vector<Chunk> chunks;
        packed.reserve(n);
        for (std::size_t i = 0; i < n; ++i) {
            number[i] = twice[2 * i] = twice[2 * i + 1] = first + i;
            low[i] = static_cast<std::uint8_t>(first + i);
            if ((first + i) % 16 != 0) continue;
            const std::uint64_t row = (first + i) / 16;
            packed.push_back(packed_of(row));
            chunks.push_back({packed.back().data(), packed_bytes(row), static_cast<std::uint32_t>(row % 2)});
        }
        const std::array<ColumnFile::Rows, 5> rows{{{0, number.data(), n},
                                                    {1, low.data(), n},
                                                    {2, twice.data(), 2 * n},
                                                    {3, twice.data(), n},
                                                    {4, chunks.data(), chunks.size()}}};
        if (!file.try_append(rows)) _exit(2);
        told_->n_appended = first + n;
    }
    void flush(ColumnFile& file) {
        if (!file.flush()) _exit(3);
        told_->n_flushed = told_->n_appended.load();
    }
    static void define(ColumnFile& file, std::size_t chunk_rows) {
        file.add_column("number", H5T_NATIVE_UINT64, "", "the row's number", chunk_rows);
        file.add_column("low", H5T_NATIVE_UINT8, "", "its lowest byte", chunk_rows);
        file.add_column("twice", H5T_NATIVE_UINT64, "", "twice each number", chunk_rows / 2);
        file.add_column("pair", H5T_NATIVE_UINT64, "", "each number twice", {chunk_rows / 4, {2}});
        file.add_column("packed", H5T_NATIVE_UINT16, "", "chunks", {1, {3, 7}, {{no_such_filter, {1, 2}}}});
        file.add_attribute("configuration", std::string(40'000, 'x'));
        file.start();
    }

    template <typename T>
    static std::vector<T> column(hid_t file, const char* name, hid_t type) {
        const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
        const hid_t space = H5Dget_space(dataset);
        std::vector<T> rows(static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space))));
        EXPECT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), 0) << name;
        H5Sclose(space);
        H5Dclose(dataset);
        return rows;
    }

    /// Checks that each row is as it was given.
    static std::size_t expect_chunks(hid_t file) {
        const hid_t dataset = H5Dopen2(file, "packed", H5P_DEFAULT);
        const hid_t space = H5Dget_space(dataset);
        std::array<hsize_t, 3> sizes{};
        H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
        EXPECT_EQ(sizes[1], 3U);
        EXPECT_EQ(sizes[2], 7U);
        for (hsize_t row = 0; row < sizes[0] && !HasFailure(); ++row) {
            const std::array<hsize_t, 3> begin{row, 0, 0};
            hsize_t n_bytes = 0;
            EXPECT_GE(H5Dget_chunk_storage_size(dataset, begin.data(), &n_bytes), 0) << row;
            EXPECT_EQ(n_bytes, packed_bytes(row)) << row;
            std::array<std::uint64_t, 3> expected = packed_of(row), packed{};
            std::uint32_t skipped = 0;
            if (n_bytes > sizeof packed) break;
            EXPECT_GE(H5Dread_chunk(dataset, H5P_DEFAULT, begin.data(), &skipped, packed.data()), 0) << row;
            EXPECT_EQ(skipped, row % 2) << row;
            EXPECT_EQ(std::memcmp(packed.data(), expected.data(), n_bytes), 0) << row;
        }
        H5Sclose(space);
        H5Dclose(dataset);
        return sizes[0];
    }

    /// Opens the file as any reader would: all rows that were flushed are there, and any further row is right, too.
    void expect_whole(const std::string& where) {
        SCOPED_TRACE(where);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
        if (!std::filesystem::exists(path())) {
            EXPECT_EQ(told_->n_appended, 0U) << "there is no file";
            return;
        }
        const hid_t file = H5Fopen(path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        ASSERT_GE(file, 0) << "the file cannot be opened";
        const auto number = column<std::uint64_t>(file, "number", H5T_NATIVE_UINT64);
        const auto low = column<std::uint8_t>(file, "low", H5T_NATIVE_UINT8);
        const auto twice = column<std::uint64_t>(file, "twice", H5T_NATIVE_UINT64);
        const auto pair = column<std::uint64_t>(file, "pair", H5T_NATIVE_UINT64);
        const std::size_t n_chunks = expect_chunks(file);
        H5Fclose(file);
        EXPECT_GE(std::min({number.size(), low.size(), twice.size() / 2, pair.size() / 2, 16 * n_chunks}),
                  told_->n_flushed);
        for (std::size_t i = 0; i < pair.size(); ++i) ASSERT_EQ(pair[i], i / 2);
        for (std::size_t i = 0; i < number.size(); ++i) ASSERT_EQ(number[i], i);
        for (std::size_t i = 0; i < low.size(); ++i) ASSERT_EQ(low[i], static_cast<std::uint8_t>(i));
        for (std::size_t i = 0; i < twice.size(); ++i) ASSERT_EQ(twice[i], i / 2);
    }

    const std::filesystem::path directory_;
    Told* const told_;
};

}  // namespace anello::store::test
