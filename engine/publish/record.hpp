// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

/// A published record: named arrays after a header that has the position of each. Subscribers need only this file; it
/// includes nothing else of the engine. Little-endian. Specified in docs/reference/publish.md.
///
///   header, 64 bytes, then n_arrays entries of 64 bytes, then the arrays, each at a multiple of 8.
namespace anello::publish {

static_assert(std::endian::native == std::endian::little, "records are read where they lie");

inline constexpr std::array<char, 8> record_magic{'A', 'N', 'E', 'L', 'R', 'E', 'C', 'D'};
inline constexpr std::uint16_t record_version = 1;
inline constexpr std::size_t record_alignment = 8;
inline constexpr std::uint16_t max_arrays = 64;
inline constexpr std::uint8_t max_dimensions = 4;

enum class RecordKind : std::uint16_t {
    end,         ///< the publisher has ended; its array `padding` has no meaning
    decisions,   ///< a batch of events with the decisions of a trigger
    kept_event,  ///< an event that a filter kept
    mep,         ///< a multi-event packet of the exchange
    count
};

enum class ArrayType : std::uint8_t { u8 = 1, u16, u32, u64, i8, i16, i32, i64, f32, f64 };

struct RecordHeader {
    std::array<char, 8> magic = record_magic;
    std::uint16_t version = record_version;
    RecordKind kind = RecordKind::end;
    std::uint16_t n_arrays = 0;
    std::uint16_t reserved = 0;
    std::uint64_t sequence = 0;  ///< counts the publisher's records from 0, dropped ones included
    std::uint32_t run = 0;       ///< the run, or the burst if events are counted by bursts
    std::uint32_t reserved_too = 0;
    std::uint64_t length_bytes = sizeof(RecordHeader);  ///< of the whole record
    std::int64_t published_ns = 0;                      ///< wall clock
    std::array<std::uint64_t, 2> reserved_at_end{};
};
static_assert(sizeof(RecordHeader) == 64);

struct ArrayEntry {
    std::array<char, 32> name{};  ///< padded with zeros, the last byte always 0
    ArrayType type = ArrayType::u8;
    std::uint8_t n_dimensions = 0;  ///< 0: one value
    std::uint16_t reserved = 0;
    std::uint32_t reserved_too = 0;
    std::array<std::uint32_t, max_dimensions> shape{};  ///< slowest first; 0 beyond n_dimensions
    std::uint64_t offset_bytes = 0;                     ///< from the record's first byte
};
static_assert(sizeof(ArrayEntry) == 64);

template <typename T>
constexpr ArrayType array_type_of() noexcept {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    constexpr auto step = static_cast<std::uint8_t>(std::countr_zero(sizeof(T)));
    constexpr ArrayType first = std::is_floating_point_v<T> ? ArrayType::f32
                                : std::is_signed_v<T>       ? ArrayType::i8
                                                            : ArrayType::u8;
    return static_cast<ArrayType>(static_cast<std::uint8_t>(first) + step - (std::is_floating_point_v<T> ? 2 : 0));
}

constexpr std::size_t bytes_of(ArrayType type) noexcept {
    constexpr std::array<std::uint8_t, 11> sizes{0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
    return static_cast<std::size_t>(type) < sizes.size() ? sizes[static_cast<std::size_t>(type)] : 0;
}

/// The error of a record; it may be used only if this is `ok`.
enum class RecordVerdict : std::uint8_t {
    ok,
    too_short,   ///< fewer bytes than a header
    misaligned,  ///< does not begin at a multiple of 8
    wrong_magic,
    wrong_version,
    wrong_kind,
    wrong_length,  ///< not the length received, or too short for its entries
    wrong_entry,   ///< too many; or an invalid name, type, number of dimensions or reserved field
    wrong_array,   ///< reaches beyond the record or into its entries, or is misaligned
};

constexpr const char* name_of(RecordVerdict verdict) noexcept {
    constexpr std::array<const char*, 9> names{"ok",           "too_short",     "misaligned",
                                               "wrong_magic",  "wrong_version", "wrong_kind",
                                               "wrong_length", "wrong_entry",   "wrong_array"};
    return names[static_cast<std::size_t>(verdict)];
}

/// Reads a record in place; valid as long as its bytes.
class RecordView {
  public:
    /// Hot path: no allocation, no lock, no log, no throw. Reads header and entries, never the arrays.
    static RecordVerdict parse(std::span<const std::byte> bytes, RecordView& view) noexcept {
        if (bytes.size() < sizeof(RecordHeader)) return RecordVerdict::too_short;
        if (std::bit_cast<std::uintptr_t>(bytes.data()) % record_alignment != 0) return RecordVerdict::misaligned;
        const auto* const header = reinterpret_cast<const RecordHeader*>(bytes.data());
        if (header->magic != record_magic) return RecordVerdict::wrong_magic;
        if (header->version != record_version) return RecordVerdict::wrong_version;
        if (header->kind >= RecordKind::count) return RecordVerdict::wrong_kind;
        if (header->n_arrays > max_arrays) return RecordVerdict::wrong_entry;
        const std::size_t arrays_begin = sizeof(RecordHeader) + header->n_arrays * sizeof(ArrayEntry);
        if (header->length_bytes != bytes.size() || arrays_begin > bytes.size()) return RecordVerdict::wrong_length;
        const std::span entries(reinterpret_cast<const ArrayEntry*>(header + 1), header->n_arrays);
        for (const ArrayEntry& entry : entries)
            if (const auto verdict = check(entry, arrays_begin, bytes.size()); verdict != RecordVerdict::ok)
                return verdict;
        view.bytes_ = bytes;
        view.header_ = header;
        view.entries_ = entries;
        return RecordVerdict::ok;
    }

    const RecordHeader& header() const noexcept { return *header_; }
    std::span<const ArrayEntry> entries() const noexcept { return entries_; }
    std::span<const std::byte> bytes() const noexcept { return bytes_; }

    /// Null if there is no array of that name.
    const ArrayEntry* find(std::string_view name) const noexcept {
        for (const ArrayEntry& entry : entries_)
            if (name == entry.name.data()) return &entry;
        return nullptr;
    }
    /// All values of an array, the last dimension fastest; empty if there is no array of that name and type.
    template <typename T>
    std::span<const T> array(std::string_view name) const noexcept {
        const ArrayEntry* const entry = find(name);
        if (entry == nullptr || entry->type != array_type_of<T>()) return {};
        return {reinterpret_cast<const T*>(bytes_.data() + entry->offset_bytes), n_values(*entry)};
    }
    /// The only value of an array; `otherwise` if there is no array of that name and type.
    template <typename T>
    T value(std::string_view name, T otherwise = 0) const noexcept {
        const std::span<const T> values = array<T>(name);
        return values.size() == 1 ? values.front() : otherwise;
    }
    /// For a checked entry.
    static std::size_t n_values(const ArrayEntry& entry) noexcept {
        std::size_t n = 1;
        for (std::uint8_t i = 0; i < entry.n_dimensions; ++i) n *= entry.shape[i];
        return n;
    }

  private:
    static RecordVerdict check(const ArrayEntry& entry, std::size_t begin, std::size_t end) noexcept {
        if (bytes_of(entry.type) == 0 || entry.n_dimensions > max_dimensions || entry.name.front() == '\0' ||
            entry.name.back() != '\0' || entry.reserved != 0 || entry.reserved_too != 0)
            return RecordVerdict::wrong_entry;
        if (entry.offset_bytes % record_alignment != 0 || entry.offset_bytes < begin || entry.offset_bytes > end)
            return RecordVerdict::wrong_array;
        std::uint64_t left = (end - entry.offset_bytes) / bytes_of(entry.type);  // values for which there is room
        bool is_empty = false;
        for (std::uint8_t i = 0; i < entry.n_dimensions; ++i) {
            is_empty |= entry.shape[i] == 0;
            left /= entry.shape[i] == 0 ? 1 : entry.shape[i];
        }
        return is_empty || left > 0 ? RecordVerdict::ok : RecordVerdict::wrong_array;
    }

    std::span<const std::byte> bytes_;
    const RecordHeader* header_ = nullptr;
    std::span<const ArrayEntry> entries_;
};

}  // namespace anello::publish
