// SPDX-License-Identifier: Apache-2.0
#include "camera/send/record.hpp"

#include <zstd.h>

#include <cstring>
#include <new>
#include <string>

#include "camera/events/builder/slot.hpp"
#include "core/assert.hpp"
#include "core/errors.hpp"
#include "core/keys.hpp"
#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"

namespace anello::camera {
namespace {

using wire::load_le;
using wire::store_le;

constexpr std::uint32_t magic = 0x31564543;  // "CEV1"
constexpr std::uint8_t version = 1;
constexpr std::size_t board_header_bytes = wire::camera::header_bytes;

enum Codec : std::uint8_t { codec_none, codec_zstd, n_codecs };
enum RecordFlag : std::uint8_t { with_difference = 1, known_flags = 1 };

/// Offsets of the header's fields.
enum At : std::size_t {
    at_magic = 0,
    at_version = 4,
    at_codec = 5,
    at_shuffle = 6,
    at_flags = 7,
    at_record_bytes = 8,
    at_run_id = 12,
    at_event_number = 16,
    at_n_boards = 20,
    at_n_present = 22,
    at_timestamp_ns = 24,
    at_first_ns = 32,
    at_closed_ns = 40,
    at_body_bytes = 48,
    at_stored_bytes = 52,
    at_reserved = 56,
    at_checksum = 60
};

constexpr std::size_t present_bytes(std::size_t n_boards) noexcept {
    return (n_boards + 63) / 64 * 8;
}

std::uint32_t checksum_of(std::span<const std::byte> record) noexcept {
    return wire::crc32c(record.subspan(record_header_bytes), wire::crc32c(record.first(at_checksum)));
}

void write_header(std::byte* out, const CameraEventView& event) noexcept {
    std::memset(out, 0, record_header_bytes + present_bytes(event.shape.n_boards));
    store_le(out + at_magic, magic);
    out[at_version] = std::byte{version};
    store_le(out + at_run_id, event.run_id);
    store_le(out + at_event_number, event.event_number);
    store_le(out + at_n_boards, static_cast<std::uint16_t>(event.shape.n_boards));
    store_le(out + at_n_present, static_cast<std::uint16_t>(event.n_present));
    store_le(out + at_timestamp_ns, event.timestamp_ns);
    store_le(out + at_first_ns, static_cast<std::uint64_t>(event.first_ns));
    store_le(out + at_closed_ns, static_cast<std::uint64_t>(event.closed_ns));
    for (std::uint32_t board = 0; board < event.shape.n_boards; ++board)
        if (event.present.contains(board))
            out[record_header_bytes + board / 8] |= static_cast<std::byte>(1U << (board % 8));
}

RecordHeader read_header(const std::byte* record) noexcept {
    return {load_le<std::uint32_t>(record + at_run_id),
            load_le<std::uint32_t>(record + at_event_number),
            load_le<std::uint16_t>(record + at_n_boards),
            load_le<std::uint16_t>(record + at_n_present),
            load_le<std::uint64_t>(record + at_timestamp_ns),
            static_cast<Nanoseconds>(load_le<std::uint64_t>(record + at_first_ns)),
            static_cast<Nanoseconds>(load_le<std::uint64_t>(record + at_closed_ns))};
}

/// Checks everything that can be checked without the body.
RecordVerdict check(std::span<const std::byte> record) noexcept {
    if (record.size() < record_header_bytes) return RecordVerdict::too_short;
    const std::byte* const at = record.data();
    if (load_le<std::uint32_t>(at + at_magic) != magic) return RecordVerdict::wrong_magic;
    if (at[at_version] != std::byte{version}) return RecordVerdict::wrong_version;
    if (at[at_codec] >= std::byte{n_codecs} || at[at_shuffle] > static_cast<std::byte>(Shuffle::bit) ||
        at[at_flags] > std::byte{known_flags} || load_le<std::uint32_t>(at + at_reserved) != 0)
        return RecordVerdict::wrong_flags;
    const RecordHeader header = read_header(at);
    if (header.n_boards > max_camera_boards || header.n_present > header.n_boards) return RecordVerdict::wrong_boards;
    const std::size_t stored = load_le<std::uint32_t>(at + at_stored_bytes);
    const std::size_t body = load_le<std::uint32_t>(at + at_body_bytes);
    const std::size_t most = header.n_present * (board_header_bytes + wire::camera::max_payload_bytes);
    if (load_le<std::uint32_t>(at + at_record_bytes) != record.size() ||
        record_header_bytes + present_bytes(header.n_boards) + stored != record.size() || body > most ||
        body < header.n_present * board_header_bytes || (at[at_codec] == std::byte{codec_none} && stored != body))
        return RecordVerdict::wrong_length;
    return load_le<std::uint32_t>(at + at_checksum) == checksum_of(record) ? RecordVerdict::ok
                                                                           : RecordVerdict::wrong_checksum;
}

bool read_present(std::span<const std::byte> record, const RecordHeader& header, BoardSet& present) noexcept {
    present.clear();
    for (std::uint32_t bit = 0; bit < present_bytes(header.n_boards) * 8; ++bit) {
        const auto byte = std::to_integer<std::uint32_t>(record[record_header_bytes + bit / 8]);
        if (((byte >> (bit % 8)) & 1) == 0) continue;
        if (bit >= header.n_boards) return false;
        present.add(bit);
    }
    return present.count() == header.n_present;
}

const CompressionConfig& validated(const CompressionConfig& config) {
    compression_keys.check(config);
    return config;
}

namespace compression_table {

using C = CompressionConfig;
using K = Key<C>;
constexpr std::array keys{
    K::of<&C::level>("zstd_level", {0, 19}, "Compression level of events; 0: none."),
    K::of<&C::shuffle>("shuffle", "How the samples of a record are reordered before compression.").for_experts(),
    K::of<&C::table_shuffle>("table_shuffle", "The same for a file of the format table.").for_experts(),
    K::of<&C::choice>(
        "compression",
        "given: as zstd_level and shuffle say, records by differences; auto: the smallest of several ways "
        "that stay within compress_budget_us, tried on the run's first events."),
    K::of<&C::budget_us>("compress_budget_us", {10, 1e6},
                         "What compression = auto may take of a core for an event, us."),
    K::of<&C::n_threads>("compress_threads", {-1, 64},
                         "Threads that compress kept events side by side, in their order; 0: the one that sends; "
                         "-1: one for each core."),
};

}  // namespace compression_table

}  // namespace

constinit const Keys<CompressionConfig> compression_keys{
    "camera_send", "What is done with the events that the filter keeps.", compression_table::keys};

const char* name_of(RecordVerdict verdict) noexcept {
    switch (verdict) {
        case RecordVerdict::ok:
            return "ok";
        case RecordVerdict::too_short:
            return "too_short";
        case RecordVerdict::wrong_magic:
            return "wrong_magic";
        case RecordVerdict::wrong_version:
            return "wrong_version";
        case RecordVerdict::wrong_flags:
            return "wrong_flags";
        case RecordVerdict::wrong_length:
            return "wrong_length";
        case RecordVerdict::wrong_checksum:
            return "wrong_checksum";
        case RecordVerdict::wrong_boards:
            return "wrong_boards";
        case RecordVerdict::wrong_body:
            return "wrong_body";
    }
    return "unknown";
}

CameraEncoder::CameraEncoder(const CompressionConfig& config, const CameraShape& shape)
    : config_(validated(config)),
      shape_(shape),
      body_(shape.n_boards * (board_header_bytes + shape.max_payload_bytes)),
      other_(body_.size()),
      context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, config.level);
}

void CameraEncoder::use(const CompressionConfig& steps) noexcept {
    if (steps.level != config_.level) ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, steps.level);
    config_ = steps;
}

CameraEncoder::~CameraEncoder() {
    ZSTD_freeCCtx(context_);
}

std::size_t CameraEncoder::max_record_bytes() const noexcept {
    return record_header_bytes + present_bytes(shape_.n_boards) + ZSTD_compressBound(body_.size());
}

/// Copies the headers of the present boards, then their waveforms, into body_.
std::size_t CameraEncoder::gather(const CameraEventView& event) noexcept {
    std::byte* header = body_.data();
    std::byte* waveforms = header + event.n_present * board_header_bytes;
    for (std::uint32_t board = 0; board < event.shape.n_boards; ++board) {
        if (!event.present.contains(board)) continue;
        const std::byte* const slot = event.slot(board);
        const std::size_t n = waveforms_in(slot).payload_bytes;
        ANELLO_ASSERT(n <= event.shape.max_payload_bytes);
        std::memcpy(header, slot, board_header_bytes);
        std::memcpy(waveforms, slot + board_header_bytes, n);
        header += board_header_bytes;
        waveforms += n;
    }
    return static_cast<std::size_t>(waveforms - body_.data());
}

/// Applies the configured steps to the waveforms, each from one buffer to the other; then compresses everything.
std::size_t CameraEncoder::write_body(std::span<std::byte> out, std::size_t n_headers,
                                      std::size_t body_bytes) noexcept {
    const auto waveforms_of = [&](std::vector<std::byte>& buffer) {
        return std::span(buffer).subspan(n_headers, body_bytes - n_headers);
    };
    const auto step_over = [&] {
        std::memcpy(other_.data(), body_.data(), n_headers);
        body_.swap(other_);
    };
    if (config_.difference) {
        difference(waveforms_of(body_), waveforms_of(other_));
        step_over();
    }
    if (config_.shuffle != Shuffle::none) {
        shuffle(config_.shuffle, waveforms_of(body_), waveforms_of(other_));
        step_over();
    }
    if (config_.level == 0) {
        std::memcpy(out.data(), body_.data(), body_bytes);
        return body_bytes;
    }
    return ZSTD_compress2(context_, out.data(), out.size(), body_.data(), body_bytes);
}

EncodedEvent CameraEncoder::encode_event(const CameraEventView& event, std::span<std::byte> out) noexcept {
    ANELLO_ASSERT(event.shape.n_boards == shape_.n_boards && event.shape.max_payload_bytes <= shape_.max_payload_bytes);
    if (out.size() < max_record_bytes()) return {};
    const std::size_t begin = record_header_bytes + present_bytes(shape_.n_boards);
    const std::size_t body_bytes = gather(event);
    const std::size_t stored = write_body(out.subspan(begin), event.n_present * board_header_bytes, body_bytes);
    if (ZSTD_isError(stored) != 0) return {};
    write_header(out.data(), event);
    out[at_codec] = std::byte{config_.level == 0 ? codec_none : codec_zstd};
    out[at_shuffle] = static_cast<std::byte>(config_.shuffle);
    out[at_flags] = config_.difference ? std::byte{with_difference} : std::byte{0};
    store_le(out.data() + at_record_bytes, static_cast<std::uint32_t>(begin + stored));
    store_le(out.data() + at_body_bytes, static_cast<std::uint32_t>(body_bytes));
    store_le(out.data() + at_stored_bytes, static_cast<std::uint32_t>(stored));
    store_le(out.data() + at_checksum, checksum_of(out.first(begin + stored)));
    return {out.first(begin + stored), body_bytes};
}

CameraDecoder::CameraDecoder() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
}

CameraDecoder::~CameraDecoder() {
    ZSTD_freeDCtx(context_);
}

bool CameraDecoder::read_body(std::span<const std::byte> record, std::span<const std::byte> stored,
                              CameraRecord& decoded) {
    const std::size_t n_headers = decoded.header.n_present * board_header_bytes;
    body_.resize(load_le<std::uint32_t>(record.data() + at_body_bytes));
    if (record[at_codec] == std::byte{codec_none}) {
        if (!stored.empty()) std::memcpy(body_.data(), stored.data(), stored.size());
    } else if (ZSTD_decompressDCtx(context_, body_.data(), body_.size(), stored.data(), stored.size()) !=
               body_.size()) {
        return false;
    }
    waveforms_.resize(body_.size() - n_headers);
    const auto shuffled = std::span<const std::byte>(body_).subspan(n_headers);
    undo_shuffle(static_cast<Shuffle>(record[at_shuffle]), shuffled, waveforms_);
    if ((record[at_flags] & std::byte{with_difference}) != std::byte{0}) undo_difference(waveforms_);
    std::size_t announced = 0;
    for (std::size_t i = 0; i < decoded.header.n_present; ++i)
        announced += waveforms_in(body_.data() + i * board_header_bytes).payload_bytes;
    decoded.headers = std::span<const std::byte>(body_).first(n_headers);
    decoded.waveforms = waveforms_;
    return announced == waveforms_.size();
}

RecordVerdict CameraDecoder::decode(std::span<const std::byte> record, CameraRecord& decoded) {
    const RecordVerdict verdict = check(record);
    if (verdict != RecordVerdict::ok) return verdict;
    decoded.header = read_header(record.data());
    if (!read_present(record, decoded.header, decoded.present)) return RecordVerdict::wrong_boards;
    const auto stored = record.subspan(record_header_bytes + present_bytes(decoded.header.n_boards));
    return read_body(record, stored, decoded) ? RecordVerdict::ok : RecordVerdict::wrong_body;
}

}  // namespace anello::camera
