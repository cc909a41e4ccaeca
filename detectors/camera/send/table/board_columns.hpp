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

/// One quantity: rows in memory until they go to the file.
template <typename T>
class HeldColumn {
  public:
    HeldColumn() = default;
    /// n_values: that memory has room for.
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

/// The columns of a file that hold what the boards sent, in one of its two formats. Room in memory was taken before for
/// as many events and bytes as the writer's configuration says: nothing is allocated by an event.
class BoardColumns {
  public:
    virtual ~BoardColumns() = default;
    /// Bytes that it takes of memory; 0: what was made of the event is not for this format.
    virtual std::size_t size_of(const EncodedEvent& encoded) const noexcept = 0;
    virtual void add(const CameraEventView& event, const EncodedEvent& encoded) noexcept = 0;
    virtual std::size_t n_bytes() const noexcept = 0;  ///< held
    virtual void list(std::vector<store::ColumnFile::Rows>& all) const noexcept = 0;
    virtual void clear() noexcept = 0;
};

/// Events and bytes that memory holds at most. Both must not outlive the file.
std::unique_ptr<BoardColumns> make_record_columns(store::ColumnFile& file, std::size_t n_events, std::size_t n_bytes);
std::unique_ptr<BoardColumns> make_table_columns(store::ColumnFile& file, std::size_t n_events, std::size_t n_bytes,
                                                 const TableShape& shape);

}  // namespace anello::camera
