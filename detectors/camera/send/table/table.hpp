// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/events/builder/slot.hpp"
#include "camera/events/event.hpp"
#include "camera/send/encoded_event.hpp"
#include "camera/send/record.hpp"

/// One camera event as a row of a table that HDF5's own tools read. docs/reference/camera-table.md.
namespace anello::camera {

/// Shape of a row, which is the same for all boards of a camera.
struct TableShape {
    std::uint32_t n_boards = 0;
    std::uint32_t n_gains = 0, n_pixels = 0, n_samples = 0;  ///< per board; 0: payloads have no shape, and are tails
    std::uint32_t tail_bytes = 0;                            ///< bytes of a board's payload after its waveforms

    std::size_t board_bytes() const noexcept { return gain_bytes() * n_gains; }
    std::size_t gain_bytes() const noexcept { return std::size_t{2} * n_pixels * n_samples; }
    std::size_t waveform_bytes() const noexcept { return n_boards * board_bytes(); }
    std::size_t header_bytes() const noexcept { return std::size_t{n_boards} * wire::camera::header_bytes; }
    std::size_t all_tail_bytes() const noexcept { return std::size_t{n_boards} * tail_bytes; }
    /// If a board sends only one of two gains, it is put in the place of the high gain.
    bool fits(const CameraWaveforms& board) const noexcept;
    /// Size of the waveforms of a board that fits the row.
    std::size_t waveform_bytes_of(const CameraWaveforms& board) const noexcept {
        return board_bytes() == 0 ? 0 : gain_bytes() * board.n_gains;
    }
};

/// The filters of the column `waveform`, in order; `headers` and `tail` have only zstd.
enum WaveformFilter : std::uint32_t { by_bytes = 1, by_bits = 2, by_zstd = 4 };
inline constexpr std::uint32_t zstd_alone = 1;

/// Only one thread uses an encoder. The constructor takes all memory, except zstd's, taken at the first event.
class TableEncoder {
  public:
    /// Uses no differences, as no filter of HDF5 undoes them. Throws ConfigError, std::bad_alloc.
    TableEncoder(const CompressionConfig& config, const TableShape& shape);
    ~TableEncoder();
    TableEncoder(const TableEncoder&) = delete;
    TableEncoder& operator=(const TableEncoder&) = delete;

    /// Sets level and shuffle, which must be valid, for events from now on.
    void use(const CompressionConfig& steps) noexcept;
    /// A buffer of this size holds any row.
    std::size_t max_bytes() const noexcept;
    /// Hot path: no lock, no log, no throw. Empty if `out` is shorter than max_bytes() or zstd fails.
    EncodedEvent encode_event(const CameraEventView& event, std::span<std::byte> out) noexcept;

  private:
    void gather(const CameraEventView& event, EncodedEvent& made) noexcept;
    std::span<const std::byte> shuffled_waveforms() noexcept;
    bool squeeze(std::span<const std::byte> in, std::uint32_t zstd_bit, std::span<std::byte>& room,
                 store::Chunk& chunk) noexcept;

    CompressionConfig config_;
    TableShape shape_;
    std::vector<std::byte> waveforms_, shuffled_, headers_, tails_;
    ZSTD_CCtx_s* context_;
};

/// For readers: decodes a chunk of a file, which any program may have written.
class ChunkDecoder {
  public:
    ChunkDecoder();
    ~ChunkDecoder();
    ChunkDecoder(const ChunkDecoder&) = delete;
    ChunkDecoder& operator=(const ChunkDecoder&) = delete;

    /// done: bits of WaveformFilter, the filters applied to the chunk. False: it does not hold exactly out's bytes.
    bool decode(std::span<const std::byte> chunk, std::uint32_t done, std::span<std::byte> out);

  private:
    std::vector<std::byte> other_;
    ZSTD_DCtx_s* context_;
};

}  // namespace anello::camera
