// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "camera/events/event.hpp"
#include "camera/send/encoded_event.hpp"
#include "camera/send/table/table.hpp"
#include "store/column_file.hpp"

namespace anello::camera {

/// A column of the file: holds its rows in memory until they are written.
template <typename T>
class HeldColumn {
  public:
    HeldColumn() = default;
    /// n_values: number of values that the memory has room for.
    HeldColumn(store::ColumnFile& file, const char* name, hid_t type, const char* unit, const char* meaning,
               std::size_t n_values, const store::ColumnLayout& layout)
        : number_(file.add_column(name, type, unit, meaning, layout)) {
        for (const hsize_t n : layout.filters.empty() ? layout.row_shape : std::vector<hsize_t>{}) row_values_ *= n;
        rows.resize(n_values);  // touches every page now, so that memory does not grow while the run fills them
        rows.clear();
    }
    store::ColumnFile::Rows in_file() const noexcept { return {number_, rows.data(), rows.size() / row_values_}; }
    std::size_t number() const noexcept { return number_; }

    std::vector<T> rows;

  private:
    std::size_t number_ = 0, row_values_ = 1;
};

/// The columns of a file with the boards' data, in one of its two formats. When they are made, they take memory for as
/// many events and bytes as the writer's configuration says: an event allocates nothing.
class BoardColumns {
  public:
    virtual ~BoardColumns() = default;
    /// Bytes that an event takes in memory; 0: it was not encoded for this format.
    virtual std::size_t size_of(const EncodedEvent& encoded) const noexcept = 0;
    virtual void add(const CameraEventView& event, const EncodedEvent& encoded) noexcept = 0;
    virtual std::size_t n_bytes() const noexcept = 0;  ///< bytes held
    virtual void list(std::vector<store::ColumnFile::Rows>& all) const noexcept = 0;
    virtual void clear() noexcept = 0;
};

/// n_events, n_bytes: upper limits of the events in memory. The columns must not outlive the file.
std::unique_ptr<BoardColumns> make_record_columns(store::ColumnFile& file, std::size_t n_events, std::size_t n_bytes);
std::unique_ptr<BoardColumns> make_table_columns(store::ColumnFile& file, std::size_t n_events, std::size_t n_bytes,
                                                 const TableShape& shape);

}  // namespace anello::camera
