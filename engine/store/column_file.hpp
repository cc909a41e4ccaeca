// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace anello::store {

/// One HDF5 file of one-dimensional columns that grow. Set-up throws; append and close report by value.
class ColumnFile {
  public:
    /// A file that exists is replaced. Throws SystemError with the cause (no directory, no permission).
    explicit ColumnFile(const std::string& path);
    ~ColumnFile();
    ColumnFile(const ColumnFile&) = delete;
    ColumnFile& operator=(const ColumnFile&) = delete;

    /// Set-up. `unit` and `meaning` become attributes of the column. Returns the column's number. Throws SystemError.
    std::size_t add_column(const std::string& name, hid_t type, const std::string& unit, const std::string& meaning,
                           std::size_t chunk_rows);
    void add_attribute(const std::string& name, const std::string& text);  ///< of the file
    void add_attribute(const std::string& name, std::uint64_t value);      ///< of the file

    /// False when the file refuses; what was there before is kept. Rows are of the column's type.
    bool append(std::size_t column, const void* rows, std::size_t n_rows) noexcept;
    /// Cuts a column back to n_rows, so that columns stay equally long when one of them was refused.
    bool shorten(std::size_t column, std::uint64_t n_rows) noexcept;
    std::uint64_t n_rows(std::size_t column) const noexcept { return columns_[column].n_rows; }
    bool flush() noexcept;
    bool close() noexcept;  ///< False when the last bytes could not be written.
    /// The library's own words on the last refusal; empty when there was none.
    const std::string& last_error() const noexcept { return last_error_; }

  private:
    struct Column {
        hid_t dataset;
        hid_t type;
        std::uint64_t n_rows;
    };
    bool note_error() noexcept;

    hid_t file_ = H5I_INVALID_HID;
    std::vector<Column> columns_;
    std::string last_error_;
};

}  // namespace anello::store
