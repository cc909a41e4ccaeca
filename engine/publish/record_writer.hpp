// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "publish/record.hpp"

namespace anello::publish {

using ConstBytes = std::span<const std::byte>;

/// A complete record as pieces of memory; their concatenation is sent.
struct OutgoingRecord {
    RecordHeader* header = nullptr;  ///< in the first piece; the publisher writes its stamps into it
    std::span<const ConstBytes> pieces;

    std::size_t length_bytes() const noexcept { return static_cast<std::size_t>(header->length_bytes); }
    /// Hot path. `to` must have room for length_bytes().
    void copy_to(std::byte* to) const noexcept;
};

/// Composes records without copying arrays: it owns only header, entries and single values. The constructor allocates
/// all memory. Added arrays must stay until the record has been published.
class RecordWriter {
  public:
    /// Reserves room for n_arrays arrays, including single values, and n_pieces pieces of arrays.
    RecordWriter(RecordKind kind, std::size_t n_arrays, std::size_t n_pieces);

    // Hot path: no allocation, no lock, no log, no throw.
    void begin(std::uint32_t run) noexcept;
    template <typename T>
    void add_value(std::string_view name, T value) noexcept {
        std::byte* const place = values_.data() + entries_.size() * record_alignment;
        std::memcpy(place, &value, sizeof value);
        open(name, array_type_of<T>(), {});
        add_bytes({place, sizeof value});
        close();
    }
    template <typename T>
    void add_array(std::string_view name, std::span<const T> values) noexcept {
        open(name, array_type_of<T>(), {static_cast<std::uint32_t>(values.size())});
        add_bytes(std::as_bytes(values));
        close();
    }
    /// Opens an array in pieces: call add_bytes() for as many bytes as the shape has, then close().
    void open(std::string_view name, ArrayType type, std::initializer_list<std::uint32_t> shape) noexcept;
    void add_bytes(ConstBytes piece) noexcept;
    void add_zeros(std::size_t n_bytes) noexcept;
    void close() noexcept;
    OutgoingRecord finish() noexcept;

  private:
    RecordHeader& header() noexcept { return *reinterpret_cast<RecordHeader*>(head_.data()); }

    RecordKind kind_;
    std::vector<std::uint64_t> head_;  ///< header and entries
    std::vector<ArrayEntry> entries_;
    std::vector<std::byte> values_;
    std::vector<ConstBytes> pieces_;
    std::size_t arrays_bytes_ = 0;
};

/// Upper bound of a record's size, given the padded size of its arrays.
constexpr std::size_t largest_record_bytes(std::size_t n_arrays, std::size_t arrays_bytes) noexcept {
    return sizeof(RecordHeader) + n_arrays * (sizeof(ArrayEntry) + record_alignment) + arrays_bytes;
}

}  // namespace anello::publish
