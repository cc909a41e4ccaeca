// SPDX-License-Identifier: Apache-2.0
#include "publish/record_writer.hpp"

#include <algorithm>

#include "core/assert.hpp"

namespace anello::publish {
namespace {

constexpr std::array<std::byte, 4096> zeros{};

}  // namespace

void OutgoingRecord::copy_to(std::byte* to) const noexcept {
    for (const ConstBytes piece : pieces) {
        std::memcpy(to, piece.data(), piece.size());
        to += piece.size();
    }
}

RecordWriter::RecordWriter(RecordKind kind, std::size_t n_arrays, std::size_t n_pieces)
    : kind_(kind),
      head_((sizeof(RecordHeader) + n_arrays * sizeof(ArrayEntry)) / sizeof(std::uint64_t)),
      values_(n_arrays * record_alignment) {
    entries_.reserve(n_arrays);
    pieces_.reserve(1 + 2 * n_arrays + n_pieces);  // the head; for each array a piece and its padding
}

void RecordWriter::begin(std::uint32_t run) noexcept {
    RecordHeader begun;
    begun.kind = kind_;
    begun.run = run;
    header() = begun;
    entries_.clear();
    pieces_.clear();
    pieces_.emplace_back();  // for the head, once it is known
    arrays_bytes_ = 0;
}

void RecordWriter::open(std::string_view name, ArrayType type, std::initializer_list<std::uint32_t> shape) noexcept {
    ANELLO_ASSERT(entries_.size() < entries_.capacity() && name.size() < ArrayEntry{}.name.size());
    ArrayEntry entry;
    std::copy(name.begin(), name.end(), entry.name.begin());
    entry.type = type;
    entry.n_dimensions = static_cast<std::uint8_t>(shape.size());
    std::copy(shape.begin(), shape.end(), entry.shape.begin());
    entry.offset_bytes = arrays_bytes_;  // relative to the first array until all arrays are known
    entries_.push_back(entry);
}

void RecordWriter::add_bytes(ConstBytes piece) noexcept {
    if (piece.empty()) return;
    ANELLO_ASSERT(pieces_.size() < pieces_.capacity());
    pieces_.push_back(piece);
    arrays_bytes_ += piece.size();
}

void RecordWriter::add_zeros(std::size_t n_bytes) noexcept {
    for (std::size_t n_left = n_bytes; n_left > 0;) {
        const std::size_t n = std::min(n_left, zeros.size());
        add_bytes(ConstBytes(zeros).first(n));
        n_left -= n;
    }
}

void RecordWriter::close() noexcept {
    add_zeros((record_alignment - arrays_bytes_ % record_alignment) % record_alignment);
}

OutgoingRecord RecordWriter::finish() noexcept {
    const std::size_t n_head_bytes = sizeof(RecordHeader) + entries_.size() * sizeof(ArrayEntry);
    for (ArrayEntry& entry : entries_) entry.offset_bytes += n_head_bytes;
    header().n_arrays = static_cast<std::uint16_t>(entries_.size());
    header().length_bytes = n_head_bytes + arrays_bytes_;
    auto* const head = reinterpret_cast<std::byte*>(head_.data());
    if (!entries_.empty())
        std::memcpy(head + sizeof(RecordHeader), entries_.data(), n_head_bytes - sizeof(RecordHeader));
    pieces_.front() = {head, n_head_bytes};
    return {&header(), pieces_};
}

}  // namespace anello::publish
