// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "store/column_file.hpp"
#include "store/disk.hpp"
#include "store/record_file.hpp"

namespace anello::store::test {

/// A disk, and another way to its files.
class DiskUnderTest {
  public:
    virtual ~DiskUnderTest() = default;
    virtual Disk& disk() = 0;
    virtual std::string path(const std::string& name) const = 0;
    virtual std::string content(const std::string& name) const = 0;
    virtual bool exists(const std::string& name) const = 0;
};

inline iovec piece(const std::string& text) {
    return {const_cast<char*>(text.data()), text.size()};
}

inline bool append(OpenFile& file, const std::string& text) {
    std::array pieces{piece(text)};
    return append_all(file, pieces);
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// What every disk does. Full disks are in full_disk_test and simulated_disk_test, as each is filled in its own way.
template <typename Under>
class DiskConformance : public testing::Test {
  protected:
    std::unique_ptr<OpenFile> create(const std::string& name) { return under_.disk().create(under_.path(name)); }

    Under under_;
};

TYPED_TEST_SUITE_P(DiskConformance);

TYPED_TEST_P(DiskConformance, WhatIsAppendedComesOneBehindTheOther) {
    const auto file = this->create("records.raw");
    ASSERT_NE(file, nullptr);
    const std::string first = "one", nothing, second(100'000, '2');
    std::array pieces{piece(first), piece(nothing), piece(second)};
    ASSERT_TRUE(append_all(*file, pieces));
    ASSERT_TRUE(append(*file, "three"));
    EXPECT_EQ(this->under_.content("records.raw"), first + second + "three");
    EXPECT_TRUE(file->close());
}

TYPED_TEST_P(DiskConformance, WhatIsThereIsNotReplaced) {
    ASSERT_TRUE(append(*this->create("records.raw"), "the first"));
    errno = 0;
    EXPECT_EQ(this->create("records.raw"), nullptr);
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(this->under_.content("records.raw"), "the first");
    this->under_.disk().remove(this->under_.path("records.raw"));
    EXPECT_NE(this->create("records.raw"), nullptr);
    EXPECT_EQ(this->under_.content("records.raw"), "");
}

TYPED_TEST_P(DiskConformance, WhatIsCutOffIsGoneAndTheNextComesThere) {
    const auto file = this->create("records.raw");
    ASSERT_TRUE(append(*file, "whole, and a part"));
    ASSERT_TRUE(file->cut(5));
    EXPECT_EQ(this->under_.content("records.raw"), "whole");
    ASSERT_TRUE(append(*file, " again"));
    EXPECT_EQ(this->under_.content("records.raw"), "whole again");
}

TYPED_TEST_P(DiskConformance, BytesGoAnywhereAndComeBack) {
    const auto file = this->create("columns.h5");
    ASSERT_TRUE(write_all_at(*file, 4, bytes_of("four")));
    ASSERT_TRUE(write_all_at(*file, 2, bytes_of("to")));
    EXPECT_EQ(this->under_.content("columns.h5"), std::string("\0\0tofour", 8));
    std::array<std::byte, 16> read{};
    EXPECT_EQ(file->read_at(2, read), 6);
    EXPECT_EQ(std::memcmp(read.data(), "tofour", 6), 0);
    EXPECT_EQ(file->read_at(8, read), 0);
    EXPECT_EQ(file->read_at(100, read), 0);
}

TYPED_TEST_P(DiskConformance, ReservedRoomIsOfZerosAndKeepsWhatIsThere) {
    const auto file = this->create("columns.h5");
    ASSERT_TRUE(write_all_at(*file, 0, bytes_of("there")));
    ASSERT_TRUE(file->reserve(5, 3));
    ASSERT_TRUE(file->reserve(0, 2)) << "which it has";
    EXPECT_EQ(this->under_.content("columns.h5"), std::string("there\0\0\0", 8));
}

TYPED_TEST_P(DiskConformance, ANameIsGivenOnce) {
    ASSERT_TRUE(append(*this->create("columns.h5.new"), "new"));
    const std::string from = this->under_.path("columns.h5.new"), to = this->under_.path("columns.h5");
    EXPECT_TRUE(this->under_.disk().give_name(from, to));
    EXPECT_EQ(this->under_.content("columns.h5"), "new");
    EXPECT_FALSE(this->under_.exists("columns.h5.new"));
    ASSERT_TRUE(append(*this->create("columns.h5.new"), "newer"));
    errno = 0;
    EXPECT_FALSE(this->under_.disk().give_name(from, to));
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(this->under_.content("columns.h5"), "new");
    EXPECT_FALSE(this->under_.disk().give_name(this->under_.path("none"), this->under_.path("other")));
}

TYPED_TEST_P(DiskConformance, RecordsGoOnInTheNextFileAndPassOverWhatOthersHave) {
    ASSERT_TRUE(append(*this->create("records-0001.raw"), "another's"));
    RecordFile records(this->under_.path("records.raw"), {.max_bytes = 10, .disk = &this->under_.disk()},
                       bytes_of("head "));
    for (const std::string text : {"first", "second", "third"}) {
        std::array pieces{piece(text)};
        ASSERT_TRUE(records.try_write(pieces));
    }
    records.close();
    EXPECT_EQ(this->under_.content("records.raw"), "head first");
    EXPECT_EQ(this->under_.content("records-0001.raw"), "another's");
    EXPECT_EQ(this->under_.content("records-0002.raw"), "head second");
    EXPECT_EQ(this->under_.content("records-0003.raw"), "head third");
}

/// HDF5 reads them from memory.
TYPED_TEST_P(DiskConformance, ColumnsAreAFileThatAnybodyOpens) {
    ColumnFile columns(this->under_.path("columns.h5"), {.disk = &this->under_.disk()});
    columns.add_column("number", H5T_NATIVE_UINT32, "", "counts", 100);
    columns.start();
    std::vector<std::uint32_t> rows(1000), read(1000);
    for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    const ColumnFile::Rows all{0, rows.data(), rows.size()};
    ASSERT_TRUE(columns.try_append({&all, 1}) && columns.close()) << columns.last_error();
    EXPECT_FALSE(this->under_.exists("columns.h5.new"));
    std::string image = this->under_.content("columns.h5");
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 4096, 0);
    H5Pset_file_image(access, image.data(), image.size());
    const hid_t file = H5Fopen("from memory", H5F_ACC_RDONLY, access);
    ASSERT_GE(file, 0);
    const hid_t dataset = H5Dopen2(file, "number", H5P_DEFAULT);
    EXPECT_GE(H5Dread(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), 0);
    EXPECT_EQ(read, rows);
    H5Dclose(dataset);
    H5Fclose(file);
    H5Pclose(access);
}

REGISTER_TYPED_TEST_SUITE_P(DiskConformance, WhatIsAppendedComesOneBehindTheOther, WhatIsThereIsNotReplaced,
                            WhatIsCutOffIsGoneAndTheNextComesThere, BytesGoAnywhereAndComeBack,
                            ReservedRoomIsOfZerosAndKeepsWhatIsThere, ANameIsGivenOnce,
                            RecordsGoOnInTheNextFileAndPassOverWhatOthersHave, ColumnsAreAFileThatAnybodyOpens);

}  // namespace anello::store::test
