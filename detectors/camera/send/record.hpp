// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "camera/events/event.hpp"
#include "camera/send/compression.hpp"
#include "camera/send/encoded_event.hpp"
#include "core/counters/counters.hpp"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/// One camera event as a self-describing record, for files and streams alike. docs/reference/camera-record.md.
namespace anello::camera {

/// Little-endian, packed, 64 bytes; then the present boards as bits, then the body.
struct RecordHeader {
    std::uint32_t run_id = 0;
    std::uint32_t event_number = 0;
    std::uint16_t n_boards = 0;
    std::uint16_t n_present = 0;
    std::uint64_t timestamp_ns = 0;
    Nanoseconds first_ns = 0;   ///< wall clock, when the first fragment was placed
    Nanoseconds closed_ns = 0;  ///< wall clock, when the event was handed on
};

inline constexpr std::size_t record_header_bytes = 64;

/// How the compression steps are chosen. measurement: by trying them on the first events.
enum class CompressionBy : std::uint8_t { configuration, measurement };

struct CompressionConfig {
    int level = 1;
    Shuffle shuffle = Shuffle::byte;
    bool difference = true;
    Shuffle table_shuffle = Shuffle::bit;  ///< used for the table instead of shuffle and difference
    std::int32_t n_threads = 0;            ///< threads that compress, argument of n_threads_of(); 0: the sender itself
    CompressionBy choice = CompressionBy::configuration;
    double budget_us = 2000;  ///< time of a core per event that chosen steps may take

    /// The steps for the table, without differences, as no reader of the table could undo them.
    CompressionConfig of_table() const noexcept {
        CompressionConfig steps = *this;
        steps.shuffle = table_shuffle;
        steps.difference = false;
        return steps;
    }
};

extern const Keys<CompressionConfig> compression_keys;

/// Only one thread uses an encoder. The constructor takes all memory, except zstd's, taken at the first event.
class CameraEncoder {
  public:
    /// Throws ConfigError, std::bad_alloc.
    CameraEncoder(const CompressionConfig& config, const CameraShape& shape);
    ~CameraEncoder();
    CameraEncoder(const CameraEncoder&) = delete;
    CameraEncoder& operator=(const CameraEncoder&) = delete;

    /// Sets level, shuffle and difference, which must be valid, for events from now on.
    void use(const CompressionConfig& steps) noexcept;
    /// A buffer of this size holds any event of the shape.
    std::size_t max_record_bytes() const noexcept;
    /// Hot path: no lock, no log, no throw. No record if `out` is shorter than max_record_bytes() or zstd fails.
    EncodedEvent encode_event(const CameraEventView& event, std::span<std::byte> out) noexcept;

  private:
    std::size_t gather(const CameraEventView& event) noexcept;
    std::size_t write_body(std::span<std::byte> out, std::size_t n_headers, std::size_t body_bytes) noexcept;

    CompressionConfig config_;
    CameraShape shape_;
    std::vector<std::byte> body_, other_;  ///< headers and waveforms; a second one for the steps before zstd
    ZSTD_CCtx_s* context_;
};

/// Result of decoding a record; only if it is `ok` may the record be used.
enum class RecordVerdict : std::uint8_t {
    ok,
    too_short,
    wrong_magic,
    wrong_version,
    wrong_flags,   ///< a codec, shuffle or flag that is not known
    wrong_length,  ///< lengths differ from each other or from the record's
    wrong_checksum,
    wrong_boards,  ///< bits of the present boards differ from their number
    wrong_body,    ///< zstd cannot read it, or headers and waveforms differ in length from what is announced
};
const char* name_of(RecordVerdict verdict) noexcept;

/// A decoded record; its spans are valid until the decoder decodes the next.
struct CameraRecord {
    RecordHeader header;
    BoardSet present;
    std::span<const std::byte> headers;    ///< 64 bytes of each present board, as it sent them
    std::span<const std::byte> waveforms;  ///< each present board's payload_bytes, as in its header
};

/// For readers. It allocates as needed, but at most for 1024 boards of the largest fragment (9 MB) for any record.
class CameraDecoder {
  public:
    CameraDecoder();
    ~CameraDecoder();
    CameraDecoder(const CameraDecoder&) = delete;
    CameraDecoder& operator=(const CameraDecoder&) = delete;

    RecordVerdict decode(std::span<const std::byte> record, CameraRecord& decoded);

  private:
    bool read_body(std::span<const std::byte> record, std::span<const std::byte> stored, CameraRecord& decoded);

    std::vector<std::byte> body_, waveforms_;
    ZSTD_DCtx_s* context_;
};

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<camera::CompressionBy>{"given", "auto"};

}  // namespace anello
