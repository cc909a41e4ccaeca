// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "camera/events/event.hpp"
#include "camera/filter/filter.hpp"
#include "camera/send/store_counters.hpp"
#include "store/column_file.hpp"

namespace anello::camera {

struct CameraWriterConfig {
    std::string path;
    std::uint32_t chunk_bytes = 16U << 20;  ///< records held in memory at most
    std::uint32_t chunk_events = 4096;      ///< and events
    store::FileRules rules{};
    void validate() const;  ///< Throws ConfigError.
};

/// Camera events into an HDF5 file: one row per event in columns, and the records (docs/reference/camera-record.md) one
/// after the other in the byte column `records`; event e's is record_bytes[e] long from record_offset[e] on.
/// One thread. Memory is taken in the constructor; an error of the file loses a chunk, is counted and named, and never
/// stops the chain.
class CameraWriter {
  public:
    /// Throws ConfigError, SystemError (no such directory, no permission).
    CameraWriter(const CameraWriterConfig& config, CounterPage& page, const std::string& block_name = "camera_store");
    ~CameraWriter() { close(); }

    void write(const CameraEventView& event, const Verdict& verdict, std::span<const std::byte> record) noexcept;
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
    static constexpr std::size_t n_columns = 12;
    /// One quantity: rows in memory until they go to the file.
    template <typename T>
    struct Column {
        std::size_t number;
        std::vector<T> rows;
    };
    template <typename T>
    Column<T> column(const char* name, hid_t type, const char* unit, const char* meaning, std::size_t rows,
                     std::size_t file_chunk_rows);
    template <typename Visit>
    void for_each_column(Visit visit);
    void write_chunk() noexcept;

    CameraWriterConfig config_;
    Counters<CameraStoreCounter> counters_;
    store::ColumnFile file_;
    bool closed_ = false;
    Nanoseconds next_save_ns_ = 0;
    Column<std::uint32_t> run_id_, event_number_;
    Column<std::uint64_t> timestamp_ns_;
    Column<std::uint16_t> n_present_, n_pixels_above_;
    Column<float> charge_sum_;
    Column<std::uint8_t> multiplicity_, kept_by_, trigger_tag_;
    Column<std::uint64_t> record_offset_;
    Column<std::uint32_t> record_bytes_;
    Column<std::byte> records_;
};

}  // namespace anello::camera
