// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "store/column_file.hpp"

namespace anello::store {

/// A quantity of a table, declared once: files and published records take its name, type and member from here.
template <typename Row, typename T>
struct Column {
    using RowType = Row;
    using Value = T;
    const char* name;
    const char* unit;  ///< empty: a plain number
    const char* meaning;
    T Row::*member;
    std::array<std::uint32_t, 2> row_shape;  ///< of an array in each row; zeros: a single value

    constexpr Column(const char* its_name, const char* its_unit, const char* its_meaning, T Row::*its_member,
                     std::array<std::uint32_t, 2> its_shape = {})
        : name(its_name), unit(its_unit), meaning(its_meaning), member(its_member), row_shape(its_shape) {}
    bool has_array() const noexcept { return row_shape[0] > 0; }
};

template <typename T>
hid_t file_type() noexcept {
    if constexpr (requires { typename T::value_type; })
        return file_type<typename T::value_type>();
    else if constexpr (std::same_as<T, float>)
        return H5T_NATIVE_FLOAT;
    else if constexpr (std::same_as<T, std::int64_t>)
        return H5T_NATIVE_INT64;
    else if constexpr (std::same_as<T, std::uint64_t>)
        return H5T_NATIVE_UINT64;
    else if constexpr (std::same_as<T, std::uint16_t>)
        return H5T_NATIVE_UINT16;
    else {
        static_assert(std::same_as<T, std::uint8_t>);
        return H5T_NATIVE_UINT8;
    }
}

/// Calls visit(column) for each column of a tuple of columns.
template <typename Columns, typename Visit>
constexpr void for_each_column(const Columns& columns, Visit visit) {
    std::apply([&](const auto&... each) { (visit(each), ...); }, columns);
}

/// The rows of a table in memory, column by column. `columns` is a constant tuple of Column. Everything except set-up
/// is hot path: no allocation, no lock, no log, no throw.
template <const auto& columns>
class ColumnRows {
    using Columns = std::remove_cvref_t<decltype(columns)>;
    static constexpr auto all = std::make_index_sequence<std::tuple_size_v<Columns>>{};

  public:
    using Row = typename std::tuple_element_t<0, Columns>::RowType;

    /// Takes the memory for so many rows, and touches every page, so that it does not grow during the run.
    explicit ColumnRows(std::size_t max_rows) {
        for_each([&](const auto&, auto& rows) {
            rows.resize(max_rows);
            rows.clear();
        });
    }
    /// Set-up: makes these the next columns of a file.
    void add_to(ColumnFile& file, std::size_t chunk_rows) {
        for_each([&](const auto& column, const auto&) {
            std::vector<hsize_t> shape;
            if (column.has_array()) shape.assign(column.row_shape.begin(), column.row_shape.end());
            number_of_last_ = file.add_column(
                column.name, file_type<typename std::remove_cvref_t<decltype(column)>::Value>(), column.unit,
                column.meaning, ColumnLayout{.chunk_rows = chunk_rows, .row_shape = std::move(shape)});
        });
    }

    void push(const Row& row) noexcept {
        for_each([&](const auto& column, auto& rows) { rows.push_back(row.*column.member); });
    }
    std::size_t size() const noexcept { return std::get<0>(rows_).size(); }
    void clear() noexcept {
        for_each([](const auto&, auto& rows) { rows.clear(); });
    }
    /// Rows of this table that the file has, and that it will have with those here.
    std::uint64_t n_with(const ColumnFile& file) const noexcept { return file.n_rows(number_of_last_) + size(); }
    /// Appends what is to be written to the file. Reserve room for `out` before.
    void list(std::vector<ColumnFile::Rows>& out) const noexcept {
        std::size_t number = number_of_last_ + 1 - std::tuple_size_v<Columns>;
        for_each([&](const auto&, const auto& rows) { out.push_back({number++, rows.data(), rows.size()}); });
    }
    /// Calls visit(column, rows) for each column, rows being a vector of its values.
    template <typename Visit>
    void for_each(Visit visit) const noexcept {
        visit_all(*this, visit, all);
    }

  private:
    template <typename Visit>
    void for_each(Visit visit) {
        visit_all(*this, visit, all);
    }
    template <typename Self, typename Visit, std::size_t... i>
    static void visit_all(Self& self, Visit& visit, std::index_sequence<i...>) {
        (visit(std::get<i>(columns), std::get<i>(self.rows_)), ...);
    }

    template <typename... Each>
    static std::tuple<std::vector<typename Each::Value>...> vectors_of(const std::tuple<Each...>&);
    decltype(vectors_of(columns)) rows_;
    std::size_t number_of_last_ = 0;  ///< its columns have numbers in a row in the file
};

}  // namespace anello::store
