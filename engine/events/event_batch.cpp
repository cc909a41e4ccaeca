// SPDX-License-Identifier: Apache-2.0
#include "events/event_batch.hpp"

#include "core/assert.hpp"
#include "memory/column_layout.hpp"

namespace anello::events {
namespace {

BatchColumns place(memory::ColumnLayout& layout, const BatchShape& shape) noexcept {
    BatchColumns columns{};
    columns.event_key = layout.column<std::uint64_t>(shape.max_events);
    columns.sent_ns = layout.column<Nanoseconds>(shape.max_events);
    columns.kernel_ns = layout.column<Nanoseconds>(shape.max_events);
    columns.placed_ns = layout.column<Nanoseconds>(shape.max_events);
    columns.hit_offset = layout.column<std::uint32_t>(std::size_t{shape.max_events} + 1);
    columns.missing_boards = layout.column<std::uint32_t>(shape.max_events);
    columns.fine_time = layout.column<std::uint8_t>(shape.max_events);
    columns.flags = layout.column<std::uint8_t>(shape.max_events);
    columns.hit_id = layout.column<std::uint16_t>(shape.max_hits);
    columns.hit_time_fine = layout.column<std::int16_t>(shape.max_hits);
    return columns;
}

}  // namespace

std::size_t batch_bytes(const BatchShape& shape) noexcept {
    memory::ColumnLayout layout(nullptr);
    place(layout, shape);
    return layout.used_bytes();
}

BatchColumns columns_of(std::span<std::byte> buffer, const BatchShape& shape) noexcept {
    ANELLO_ASSERT(buffer.size() >= batch_bytes(shape));
    memory::ColumnLayout layout(buffer.data());
    return place(layout, shape);
}

}  // namespace anello::events
