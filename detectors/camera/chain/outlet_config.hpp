// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "camera/calibrate/event_calibration.hpp"
#include "camera/filter/filter.hpp"
#include "camera/filter/pixel_integrator.hpp"
#include "camera/send/event_encoder.hpp"
#include "camera/send/event_record.hpp"
#include "camera/send/streams/stream.hpp"
#include "core/thread.hpp"
#include "publish/publisher.hpp"
#include "store/file_rules.hpp"

namespace anello::camera {

/// Format of the boards' data in the file.
enum class FileFormat : std::uint8_t { table, records };

/// Configuration of the stages after whole events: filter and send.
struct CameraOutletConfig {
    CalibrateConfig calibrate;
    IntegratorConfig integrator;
    FilterConfig filter;
    std::string pixels_file;  ///< a file for camera_geometry(); empty: a made-up camera
    bool integrate = true;    ///< false: waveforms have no shape, and all events are kept
    CompressionConfig compression;
    std::string file;  ///< HDF5; empty: none
    FileFormat file_format = FileFormat::table;
    store::FileRules rules{};
    CameraStreamConfig stream{.host = {}};  ///< TCP; no host: none
    std::vector<int> r1_connections;        ///< one for each writer of R1v1 files; empty: no such files
    publish::PublishConfig publish;
    CameraContent published = CameraContent::event;
    std::uint32_t max_events_per_step = 16;
    std::uint32_t max_kept_events = 256;      ///< on their way to the file, the stream and subscribers
    Nanoseconds image_every_ns = 20'000'000;  ///< interval between images for the display

    /// Shape of the waveforms after calibration, which has one gain if calibration selects it.
    IntegratorConfig pixels() const noexcept {
        IntegratorConfig made = integrator;
        if (calibrate.selects_gain()) made.n_gains = 1;
        return made;
    }
    /// Whether kept events are encoded for a file or a stream.
    bool encodes() const noexcept { return !file.empty() || !stream.host.empty() || !r1_connections.empty(); }
    /// Number of threads that compress, in addition to the one that sends.
    std::uint32_t n_encoding_lanes() const noexcept { return encodes() ? n_threads_of(compression.n_threads) : 0; }
    bool compresses_aside() const noexcept { return n_encoding_lanes() > 0; }
    /// The same configuration with fixed numbers of threads, so that they do not change if the available cores change.
    CameraOutletConfig counted() const {
        CameraOutletConfig config = *this;
        config.filter.n_threads = static_cast<std::int32_t>(n_threads_of(filter.n_threads));
        config.compression.n_threads = static_cast<std::int32_t>(n_threads_of(compression.n_threads));
        return config;
    }
    /// Whether a file, stream or subscriber takes kept events.
    bool sends() const noexcept { return encodes() || publish.is_on(); }
    std::optional<TableShape> table(const CameraShape& shape) const noexcept;  ///< none: no file wants one
    EncodingConfig encoding(const CameraShape& shape) const noexcept {
        return {compression, keeps_records() || !r1_connections.empty(), table(shape)};
    }
    /// Compression of records. Records that only a writer on this machine reads are not compressed.
    CompressionConfig record_compression() const noexcept {
        return keeps_records() ? compression
                               : CompressionConfig{.level = 0, .shuffle = Shuffle::none, .difference = false};
    }
    bool keeps_records() const noexcept {
        return (!file.empty() && file_format == FileFormat::records) || !stream.host.empty();
    }
};

/// The table is as wide as the memory of a fragment, so that every fragment that fits the camera's shape fits the
/// table.
inline std::optional<TableShape> CameraOutletConfig::table(const CameraShape& shape) const noexcept {
    if (file.empty() || file_format != FileFormat::table) return std::nullopt;
    TableShape made{.n_boards = shape.n_boards};
    std::size_t sent_bytes = 0;
    if (integrate) {
        sent_bytes = integrator.board_bytes();
        made.n_gains = pixels().n_gains;
        made.n_pixels = integrator.pixels_per_board;
        made.n_samples = integrator.n_samples;
    }
    if (sent_bytes < shape.max_payload_bytes)
        made.tail_bytes = static_cast<std::uint32_t>(shape.max_payload_bytes - sent_bytes);
    return made;
}

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<camera::FileFormat>{"table", "records"};

}  // namespace anello
