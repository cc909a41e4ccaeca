// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "camera/send/table/board_columns.hpp"

namespace anello::camera {
namespace {

using store::Chunk;
using store::ChunkFilter;
using store::ColumnLayout;

constexpr std::size_t present_chunk_bytes = 1U << 16;
constexpr H5Z_filter_t bitshuffle_number = 32008, zstd_number = 32015;  // as registered at the HDF Group
constexpr unsigned bitshuffle_major = 0, bitshuffle_minor = 4;          // version of that registered filter
constexpr unsigned usual_level = 1;                                     // readers have no use for it

const ChunkFilter zstd{zstd_number, {usual_level}};

/// The block is all samples, except those beyond a multiple of eight, as compression.hpp shuffles them. Each chunk says
/// itself which of the filters were applied to it.
std::vector<ChunkFilter> waveform_filters(const TableShape& shape) {
    const auto n_samples = static_cast<unsigned>(shape.waveform_bytes() / 2);
    return {{H5Z_FILTER_SHUFFLE, {2}},
            {bitshuffle_number, {bitshuffle_major, bitshuffle_minor, 2, std::max(n_samples / 8 * 8, 8U)}},
            zstd};
}

/// Events as rows. Compressed data lie in one piece of memory until they are written to the file.
class TableColumns final : public BoardColumns {
  public:
    TableColumns(store::ColumnFile& file, std::size_t n_events, std::size_t n_bytes, const TableShape& shape)
        : shape_(shape), bytes_(n_bytes) {
        bytes_.clear();
        const hsize_t n_boards = shape.n_boards;
        first_ns_ = {file,     "first_ns", H5T_NATIVE_INT64, "ns", "wall clock: first fragment placed",
                     n_events, {n_events}};
        closed_ns_ = {file, "closed_ns", H5T_NATIVE_INT64, "ns", "wall clock: event handed on", n_events, {n_events}};
        present_ = {file,
                    "present",
                    H5T_NATIVE_UINT8,
                    "",
                    "[event, board]: 1 where its waveforms are here",
                    n_events * shape.n_boards,
                    {std::max<std::size_t>(1, present_chunk_bytes / shape.n_boards), {n_boards}}};
        headers_ = {file,
                    "headers",
                    H5T_NATIVE_UINT8,
                    "byte",
                    "[event, board, 64]: headers as the boards sent them; 0: the board did not come",
                    n_events,
                    {1, {n_boards, wire::camera::header_bytes}, {zstd}}};
        if (shape.board_bytes() > 0)
            waveform_.emplace(
                file, "waveform", H5T_STD_U16LE, "counts",
                "[event, board, gain, pixel, sample]: gain 0 is the high one; 0 where the board is not present",
                n_events,
                ColumnLayout{1, {n_boards, shape.n_gains, shape.n_pixels, shape.n_samples}, waveform_filters(shape)});
        // Bytes that boards send after their waveforms, of any kind. Readers must know the meaning of a kind.
        if (shape.tail_bytes > 0)
            tail_.emplace(file, "tail", H5T_NATIVE_UINT8, "byte",
                          "[event, board, byte]: of each payload what follows its waveforms", n_events,
                          ColumnLayout{1, {n_boards, shape.tail_bytes}, {zstd}});
    }

    std::size_t size_of(const EncodedEvent& encoded) const noexcept override { return encoded.table.size(); }
    void add(const CameraEventView& event, const EncodedEvent& encoded) noexcept override {
        first_ns_.rows.push_back(event.first_ns);
        closed_ns_.rows.push_back(event.closed_ns);
        for (std::uint32_t board = 0; board < shape_.n_boards; ++board) {
            const bool is_here = event.present.contains(board) && shape_.fits(waveforms_in(event.slot(board)));
            present_.rows.push_back(is_here ? 1 : 0);
        }
        headers_.rows.push_back(keep(encoded.table.headers));
        if (waveform_) waveform_->rows.push_back(keep(encoded.table.waveform));
        if (tail_) tail_->rows.push_back(keep(encoded.table.tail));
    }
    std::size_t n_bytes() const noexcept override { return bytes_.size(); }
    void list(std::vector<store::ColumnFile::Rows>& all) const noexcept override {
        all.insert(all.end(), {first_ns_.in_file(), closed_ns_.in_file(), present_.in_file(), headers_.in_file()});
        if (waveform_) all.push_back(waveform_->in_file());
        if (tail_) all.push_back(tail_->in_file());
    }
    void clear() noexcept override {
        bytes_.clear();
        first_ns_.rows.clear();
        closed_ns_.rows.clear();
        present_.rows.clear();
        headers_.rows.clear();
        if (waveform_) waveform_->rows.clear();
        if (tail_) tail_->rows.clear();
    }

  private:
    /// The memory never moves, as it has room for all data that the writer accepts.
    Chunk keep(Chunk chunk) noexcept {
        const auto* from = static_cast<const std::byte*>(chunk.bytes);
        const std::size_t at = bytes_.size();
        bytes_.insert(bytes_.end(), from, from + chunk.n_bytes);
        chunk.bytes = bytes_.data() + at;
        return chunk;
    }

    TableShape shape_;
    std::vector<std::byte> bytes_;
    HeldColumn<std::int64_t> first_ns_, closed_ns_;
    HeldColumn<std::uint8_t> present_;
    HeldColumn<Chunk> headers_;
    std::optional<HeldColumn<Chunk>> waveform_, tail_;
};

}  // namespace

std::unique_ptr<BoardColumns> make_table_columns(store::ColumnFile& file, std::size_t n_events, std::size_t n_bytes,
                                                 const TableShape& shape) {
    return std::make_unique<TableColumns>(file, n_events, n_bytes, shape);
}

}  // namespace anello::camera
