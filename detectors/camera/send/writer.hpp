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
    std::uint32_t chunk_bytes = 16U << 20;  ///< upper limit of the events held in memory, in bytes
    std::uint32_t chunk_events = 4096;      ///< upper limit of the events held in memory, in events
    store::FileRules rules{};
    std::optional<TableShape> table{};  ///< none: records
    void validate() const;              ///< Throws ConfigError.
};

/// Writes camera events into an HDF5 file: one row per event in columns. The boards' data are in a table
/// (docs/reference/camera-table.md) or in records (docs/reference/camera-record.md).
/// Only one thread uses it. The constructor takes all memory; an error of the file loses a chunk, is counted and
/// reported, and never stops the chain.
class CameraWriter {
  public:
    /// Throws ConfigError, SystemError (no such directory, no permission).
    CameraWriter(const CameraWriterConfig& config, CounterPage& page, const std::string& block_name = "camera_store");
    ~CameraWriter() { close(); }

    void write(const CameraEventView& event, const Verdict& verdict, const EncodedEvent& encoded) noexcept;
    /// Call it repeatedly, with the monotonic clock: within a second, events can be read from the file and survive the
    /// end of the process.
    void save(Nanoseconds now_ns) noexcept;
    /// Writes all events in memory to the file and closes it. Safe to call twice. False if an error has occurred.
    bool close() noexcept;

    const Counters<CameraStoreCounter>& counters() const noexcept { return counters_; }
    /// The cause of the last error. Only the writing thread may call it, or any thread after close().
    const std::string& last_error() const noexcept { return file_.last_error(); }
    /// The present trouble with the file, for the stage's state and for a notice when it begins; empty if there is
    /// none. Any thread.
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
