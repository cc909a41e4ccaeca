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

/// What a row has room for. All boards of a camera are alike.
struct TableShape {
    std::uint32_t n_boards = 0;
    std::uint32_t n_gains = 0, n_pixels = 0, n_samples = 0;  ///< of a board; 0: payloads have no shape, and are tails
    std::uint32_t tail_bytes = 0;                            ///< what a board's payload has behind its waveforms

    std::size_t board_bytes() const noexcept { return gain_bytes() * n_gains; }
    std::size_t gain_bytes() const noexcept { return std::size_t{2} * n_pixels * n_samples; }
    std::size_t waveform_bytes() const noexcept { return n_boards * board_bytes(); }
    std::size_t header_bytes() const noexcept { return std::size_t{n_boards} * wire::camera::header_bytes; }
    std::size_t all_tail_bytes() const noexcept { return std::size_t{n_boards} * tail_bytes; }
    /// Of two gains one may have been sent: it stands where the high gain does.
    bool fits(const CameraWaveforms& board) const noexcept;
    /// Of a board that fits.
    std::size_t waveform_bytes_of(const CameraWaveforms& board) const noexcept {
        return board_bytes() == 0 ? 0 : gain_bytes() * board.n_gains;
    }
};

/// The filters of the column `waveform`, in their order; of `headers` and `tail` zstd is the only one.
enum WaveformFilter : std::uint32_t { by_bytes = 1, by_bits = 2, by_zstd = 4 };
inline constexpr std::uint32_t zstd_alone = 1;

/// One thread per encoder; memory is taken in the constructor, zstd's at the first event.
class TableEncoder {
  public:
    /// Differences are left out: no filter of HDF5's undoes them. Throws ConfigError, std::bad_alloc.
    TableEncoder(const CompressionConfig& config, const TableShape& shape);
    ~TableEncoder();
    TableEncoder(const TableEncoder&) = delete;
    TableEncoder& operator=(const TableEncoder&) = delete;

    /// For the events from now on: level and shuffle, which were checked before.
    void use(const CompressionConfig& steps) noexcept;
    /// A buffer of this size holds any row.
    std::size_t max_bytes() const noexcept;
    /// Hot path: no lock, no log, no throw. Nothing when `out` is shorter than max_bytes() or zstd refuses.
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

/// For readers: a chunk as it stands in the file, of a file that anybody may have written.
class ChunkDecoder {
  public:
    ChunkDecoder();
    ~ChunkDecoder();
    ChunkDecoder(const ChunkDecoder&) = delete;
    ChunkDecoder& operator=(const ChunkDecoder&) = delete;

    /// done: the filters that the chunk has passed, of WaveformFilter. False: it does not hold exactly out's bytes.
    bool decode(std::span<const std::byte> chunk, std::uint32_t done, std::span<std::byte> out);

  private:
    std::vector<std::byte> other_;
    ZSTD_DCtx_s* context_;
};

}  // namespace anello::camera
