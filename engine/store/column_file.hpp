// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "store/chunk.hpp"
#include "store/file_rules.hpp"
#include "store/refusal.hpp"

namespace anello::store {

/// How often detectors' stores flush. A killed process then loses less than a second of data, even on a busy machine.
inline constexpr Nanoseconds save_every_ns = 500'000'000;

/// A filter of HDF5's that has already been applied to the rows: its registered number, and the parameters for readers.
struct ChunkFilter {
    H5Z_filter_t number;
    std::vector<unsigned> values;
};

/// How the rows of a column are stored.
struct ColumnLayout {
    std::size_t chunk_rows = 1;
    std::vector<hsize_t> row_shape{};    ///< of one row; empty: a single value
    std::vector<ChunkFilter> filters{};  ///< if not empty, each row is a chunk that the caller has filtered
};

/// HDF5 files of columns that grow: decisions.h5, then decisions-0001.h5 and so on, whenever one has reached its size
/// or failed. Set-up throws; after start() errors are returned. One thread. However the process is killed, each file
/// can be opened and has all rows of the last flush() in all columns (docs/decisions/0019-files-that-survive.md); a
/// column may also have some rows of the next flush.
class ColumnFile {
  public:
    explicit ColumnFile(std::string path, FileRules rules = {});
    ~ColumnFile();
    ColumnFile(const ColumnFile&) = delete;
    ColumnFile& operator=(const ColumnFile&) = delete;

    /// Set-up. `unit` and `meaning` become attributes of the column. Returns the column's number.
    std::size_t add_column(std::string name, hid_t type, std::string unit, std::string meaning, ColumnLayout layout);
    std::size_t add_column(std::string name, hid_t type, std::string unit, std::string meaning,
                           std::size_t chunk_rows) {
        return add_column(std::move(name), type, std::move(unit), std::move(meaning),
                          ColumnLayout{.chunk_rows = chunk_rows});
    }
    void add_attribute(std::string name, std::variant<std::string, std::uint64_t> value);  ///< of each file
    /// Creates the first file. Throws SystemError with the cause (no directory, no permission, a file that exists).
    void start();

    struct Rows {
        std::size_t column;
        const void* rows;  ///< values of the column's type; Chunks if the column has filters
        std::size_t n_rows;
    };
    /// Appends all rows to one file, or none. Returns false if the file refuses; its earlier rows are kept, and the
    /// next rows are tried again, in a new file if necessary.
    bool try_append(std::span<const Rows> all) noexcept;
    std::size_t n_columns() const noexcept { return columns_.size(); }
    /// Rows of the file that the next rows go to.
    std::uint64_t n_rows(std::size_t column) const noexcept { return columns_[column].n_rows; }
    /// After a successful flush, the end of this process no longer endangers the appended rows.
    bool flush() noexcept;
    bool close() noexcept;  ///< False if the last bytes could not be written.
    /// Error text of the system or the library for the last refusal; empty if there was none.
    const std::string& last_error() const noexcept { return last_error_; }
    /// Any thread: whether the file accepts rows now.
    Refusal& refusal() noexcept { return refusal_; }
    const std::string& path() const noexcept { return path_; }

  private:
    struct Column {
        std::string name;
        hid_t type;
        std::string unit, meaning;
        ColumnLayout layout;
        hid_t dataset = H5I_INVALID_HID;
        std::uint64_t n_rows = 0;
    };
    void create(const std::string& path);
    void make_columns();
    void make(Column& column);
    bool try_next() noexcept;
    bool write(const Rows& rows) noexcept;
    bool write_values(const Column& to, const Rows& rows) noexcept;
    bool write_chunks(const Column& to, const Rows& rows) noexcept;
    bool resize(const Column& column, std::uint64_t n_rows) noexcept;
    void take_back(std::span<const Rows> all) noexcept;
    std::uint64_t most_bytes(std::span<const Rows> all) const noexcept;
    bool note_error() noexcept;
    bool close_file() noexcept;

    const std::string path_;
    FileRules rules_;
    std::vector<FileAttribute> attributes_;
    std::vector<Column> columns_;
    hid_t file_ = H5I_INVALID_HID;
    std::uint32_t n_files_ = 0;
    bool is_closed_ = false;
    std::string last_error_;
    Refusal refusal_;
};

}  // namespace anello::store
