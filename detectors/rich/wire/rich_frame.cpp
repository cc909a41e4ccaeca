// SPDX-License-Identifier: Apache-2.0
#include "rich/wire/rich_frame.hpp"

#include <cstring>

namespace anello::wire::rich_frame {

void write(const Record& record, std::byte* to) noexcept {
    const std::size_t column_bytes = std::size_t{2} * record.n_hits;
    store_le(to, record.timestamp_ticks);
    store_le(to + 4, record.fine_time);
    store_le(to + 5, record.board);
    store_le(to + 6, record.n_hits);
    store_le(to + 8, low_half(record.sent_ns));
    store_le(to + 12, low_half(record.kernel_ns));
    if (column_bytes == 0) return;
    std::memcpy(to + record_header_bytes, record.hit_id, column_bytes);
    std::memcpy(to + record_header_bytes + column_bytes, record.hit_time_fine, column_bytes);
}

bool Reader::next(Record& record) noexcept {
    if (left_.size() < record_header_bytes) return false;
    const std::byte* from = left_.data();
    const auto n_hits = load_le<std::uint16_t>(from + 6);
    if (left_.size() < record_bytes(n_hits)) return false;
    record = {.timestamp_ticks = load_le<std::uint32_t>(from),
              .fine_time = load_le<std::uint8_t>(from + 4),
              .board = load_le<std::uint8_t>(from + 5),
              .n_hits = n_hits,
              .sent_ns = whole_stamp(load_le<std::uint32_t>(from + 8), ready_ns_),
              .kernel_ns = whole_stamp(load_le<std::uint32_t>(from + 12), ready_ns_),
              .hit_id = from + record_header_bytes,
              .hit_time_fine = from + record_header_bytes + std::size_t{2} * n_hits};
    left_ = left_.subspan(record_bytes(n_hits));
    return true;
}

}  // namespace anello::wire::rich_frame
