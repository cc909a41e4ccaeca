// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "camera/send/compression_choice.hpp"
#include "camera/send/record.hpp"
#include "camera/send/table/table.hpp"

namespace anello::camera {

/// How kept events are encoded: as records, as rows of a table, or both.
struct EncodingConfig {
    CompressionConfig compression;
    bool records = true;
    std::optional<TableShape> table{};
};

/// The compression steps of records and of tables.
struct CompressionChoices {
    explicit CompressionChoices(const CompressionConfig& config) : CompressionChoices(config, config) {}
    CompressionChoices(const CompressionConfig& of_records, const CompressionConfig& of_files)
        : record(of_records), table(of_files.of_table()) {}
    /// Text for the operator; empty if there was no choice. Any thread.
    std::string describe() const {
        const std::string of_record = record.describe(), of_table = table.describe();
        return of_record + (of_record.empty() || of_table.empty() ? "" : ", in the file ") + of_table;
    }

    CompressionChoice record, table;
};

/// Encodes events as configured. Only one thread uses an encoder; the constructor takes all memory, except that zstd
/// takes its own at the first event.
class EventEncoder {
  public:
    /// Throws ConfigError, std::bad_alloc.
    EventEncoder(const EncodingConfig& config, const CameraShape& shape) {
        if (config.records) records_.emplace(config.compression, shape);
        if (config.table) table_.emplace(config.compression.of_table(), *config.table);
    }

    /// A buffer of this size has room for any encoded event.
    std::size_t max_bytes() const noexcept { return max_record_bytes() + (table_ ? table_->max_bytes() : 0); }
    /// tries: this thread takes part in the choices. Hot path: no lock, no log, no throw.
    EncodedEvent encode(CompressionChoices& choices, bool tries, const CameraEventView& event,
                        std::span<std::byte> out) noexcept {
        if (out.size() < max_bytes()) return {};
        EncodedEvent made;
        if (records_) {
            made = encode_event(choices.record, tries, *records_, event, out.first(max_record_bytes()));
            if (made.is_empty()) return {};
        }
        if (table_) {
            const EncodedEvent row =
                encode_event(choices.table, tries, *table_, event, out.subspan(max_record_bytes()));
            if (row.is_empty()) return {};
            made.table = row.table;
            made.body_bytes += row.body_bytes;
        }
        return made;
    }

  private:
    std::size_t max_record_bytes() const noexcept { return records_ ? records_->max_record_bytes() : 0; }

    std::optional<CameraEncoder> records_;
    std::optional<TableEncoder> table_;
};

}  // namespace anello::camera
