// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "camera/events/event.hpp"
#include "camera/filter/filter.hpp"
#include "camera/send/store_counters.hpp"
#include "camera/send/table/board_columns.hpp"
#include "store/column_file.hpp"

namespace anello::camera {

struct CameraWriterConfig {
    std::string path;
    std::uint32_t chunk_bytes = 16U << 20;  ///< of events held in memory at most
    std::uint32_t chunk_events = 4096;      ///< and events
    store::FileRules rules{};
    std::optional<TableShape> table{};  ///< none: records
    void validate() const;              ///< Throws ConfigError.
};

/// Camera events into an HDF5 file: one row per event in columns. What boards sent is in a table
/// (docs/reference/camera-table.md) or in records (docs/reference/camera-record.md).
/// One thread. Memory is taken in the constructor; an error of the file loses a chunk, is counted and named, and never
/// stops the chain.
class CameraWriter {
  public:
    /// Throws ConfigError, SystemError (no such directory, no permission).
    CameraWriter(const CameraWriterConfig& config, CounterPage& page, const std::string& block_name = "camera_store");
    ~CameraWriter() { close(); }

    void write(const CameraEventView& event, const Verdict& verdict, const EncodedEvent& encoded) noexcept;
    /// To be called again and again, with the monotonic clock: what came can be read, and is safe from the end of the
    /// process, within a second.
    void save(Nanoseconds now_ns) noexcept;
    /// Empties memory into the file and closes it. Safe to call twice. False when an error was seen since the start.
    bool close() noexcept;

    const Counters<CameraStoreCounter>& counters() const noexcept { return counters_; }
    /// The cause of the last error; by the writing thread, or after close().
    const std::string& last_error() const noexcept { return file_.last_error(); }
    /// As a stage's state, and as a notice once each time that it begins; empty where the file takes what comes. Any
    /// thread.
    std::string refusal() { return file_.refusal().state(file_.path()); }
    std::string take_news() { return file_.refusal().take_news(file_.path(), "events are lost until there is room"); }

  private:
    template <typename T>
    HeldColumn<T> column(const char* name, hid_t type, const char* unit, const char* meaning);
    template <typename Visit>
    void for_each_column(Visit visit);
    void write_chunk() noexcept;

    CameraWriterConfig config_;
    Counters<CameraStoreCounter> counters_;
    store::ColumnFile file_;
    bool closed_ = false;
    Nanoseconds next_save_ns_ = 0;
    HeldColumn<std::uint32_t> run_id_, event_number_;
    HeldColumn<std::uint64_t> timestamp_ns_;
    HeldColumn<std::uint16_t> n_present_, n_pixels_above_;
    HeldColumn<float> charge_sum_;
    HeldColumn<std::uint8_t> multiplicity_, kept_by_, trigger_tag_;
    std::unique_ptr<BoardColumns> boards_;
    std::vector<store::ColumnFile::Rows> all_rows_;
};

}  // namespace anello::camera
