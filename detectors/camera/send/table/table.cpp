// SPDX-License-Identifier: Apache-2.0
#include "camera/send/table/table.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "core/assert.hpp"
#include "core/keys.hpp"

namespace anello::camera {
namespace {

const CompressionConfig& checked(const CompressionConfig& config) {
    compression_keys.check(config);
    return config;
}

void copy(const std::byte* from, std::size_t n_bytes, std::byte* to) noexcept {
    if (n_bytes > 0) std::memcpy(to, from, n_bytes);
}

/// The filter that does this shuffle.
std::uint32_t filter_of(Shuffle how) noexcept {
    if (how == Shuffle::byte) return by_bytes;
    return how == Shuffle::bit ? std::uint32_t{by_bits} : 0;
}

}  // namespace

bool TableShape::fits(const CameraWaveforms& board) const noexcept {
    if (board_bytes() == 0) return board.payload_bytes <= tail_bytes;
    const bool has_gains = board.n_gains == n_gains || (board.is_gain_selected && board.n_gains < n_gains);
    const std::size_t n_bytes = waveform_bytes_of(board);
    return has_gains && board.n_pixels == n_pixels && board.n_samples == n_samples && board.payload_bytes >= n_bytes &&
           board.payload_bytes - n_bytes <= tail_bytes;
}

TableEncoder::TableEncoder(const CompressionConfig& config, const TableShape& shape)
    : config_(checked(config)),
      shape_(shape),
      waveforms_(shape.waveform_bytes()),
      shuffled_(shape.waveform_bytes()),
      headers_(shape.header_bytes()),
      tails_(shape.all_tail_bytes()),
      context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, config.level);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);  // so that readers notice damage
}

TableEncoder::~TableEncoder() {
    ZSTD_freeCCtx(context_);
}

void TableEncoder::use(const CompressionConfig& steps) noexcept {
    if (steps.level != config_.level) ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, steps.level);
    config_ = steps;
}

std::size_t TableEncoder::max_bytes() const noexcept {
    return ZSTD_compressBound(waveforms_.size()) + ZSTD_compressBound(headers_.size()) +
           ZSTD_compressBound(tails_.size());
}

/// Puts the boards' data into the row, with zeros for data that a board did not send.
void TableEncoder::gather(const CameraEventView& event, EncodedEvent& made) noexcept {
    const std::size_t board_bytes = shape_.board_bytes(), tail_bytes = shape_.tail_bytes;
    constexpr std::size_t header_bytes = wire::camera::header_bytes;
    std::ranges::fill(tails_, std::byte{0});
    for (std::uint32_t board = 0; board < shape_.n_boards; ++board) {
        std::byte* const header = headers_.data() + board * header_bytes;
        std::byte* const waveforms = waveforms_.data() + board * board_bytes;
        const bool is_present = event.present.contains(board);
        const CameraWaveforms sent = is_present ? waveforms_in(event.slot(board)) : CameraWaveforms{};
        if (is_present)
            std::memcpy(header, event.slot(board), header_bytes);
        else
            std::fill_n(header, header_bytes, std::byte{0});
        if (!is_present || !shape_.fits(sent)) {
            std::fill_n(waveforms, board_bytes, std::byte{0});
            made.table.n_misfits += is_present ? 1 : 0;
            continue;
        }
        const std::size_t n_bytes = shape_.waveform_bytes_of(sent);
        copy(event.payload(board), n_bytes, waveforms);
        std::fill_n(waveforms + n_bytes, board_bytes - n_bytes, std::byte{0});
        copy(event.payload(board) + n_bytes, sent.payload_bytes - n_bytes, tails_.data() + board * tail_bytes);
        made.body_bytes += header_bytes + sent.payload_bytes;
    }
}

std::span<const std::byte> TableEncoder::shuffled_waveforms() noexcept {
    if (config_.shuffle == Shuffle::none) return waveforms_;
    shuffle(config_.shuffle, waveforms_, shuffled_);
    return shuffled_;
}

/// Compresses `in` into the begin of `room`, and shortens `room`.
bool TableEncoder::squeeze(std::span<const std::byte> in, std::uint32_t zstd_bit, std::span<std::byte>& room,
                           store::Chunk& chunk) noexcept {
    if (in.empty()) return true;
    chunk.bytes = room.data();
    if (config_.level == 0) {
        std::memcpy(room.data(), in.data(), in.size());
        chunk.n_bytes = in.size();
        chunk.skipped_filters |= zstd_bit;
    } else {
        chunk.n_bytes = ZSTD_compress2(context_, room.data(), room.size(), in.data(), in.size());
        if (ZSTD_isError(chunk.n_bytes) != 0) return false;
    }
    room = room.subspan(chunk.n_bytes);
    return true;
}

EncodedEvent TableEncoder::encode_event(const CameraEventView& event, std::span<std::byte> out) noexcept {
    ANELLO_ASSERT(event.shape.n_boards == shape_.n_boards);
    if (out.size() < max_bytes()) return {};
    EncodedEvent made;
    gather(event, made);
    made.table.waveform.skipped_filters = (by_bytes | by_bits) & ~filter_of(config_.shuffle);
    const bool fitted = squeeze(shuffled_waveforms(), by_zstd, out, made.table.waveform) &&
                        squeeze(headers_, zstd_alone, out, made.table.headers) &&
                        squeeze(tails_, zstd_alone, out, made.table.tail);
    return fitted ? made : EncodedEvent{};
}

ChunkDecoder::ChunkDecoder() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
}

ChunkDecoder::~ChunkDecoder() {
    ZSTD_freeDCtx(context_);
}

bool ChunkDecoder::decode(std::span<const std::byte> chunk, std::uint32_t done, std::span<std::byte> out) {
    if (done > (by_bytes | by_bits | by_zstd) || out.empty()) return false;
    if ((done & by_zstd) != 0) {
        if (ZSTD_decompressDCtx(context_, out.data(), out.size(), chunk.data(), chunk.size()) != out.size())
            return false;
    } else {
        if (chunk.size() != out.size()) return false;
        std::memcpy(out.data(), chunk.data(), chunk.size());
    }
    for (const Shuffle how : {Shuffle::bit, Shuffle::byte}) {
        if ((done & filter_of(how)) == 0) continue;
        other_.assign(out.begin(), out.end());
        undo_shuffle(how, other_, out);
    }
    return true;
}

}  // namespace anello::camera
