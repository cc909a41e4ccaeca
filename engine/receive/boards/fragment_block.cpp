// SPDX-License-Identifier: Apache-2.0
#include "receive/boards/fragment_block.hpp"

#include "core/assert.hpp"
#include "memory/column_layout.hpp"

namespace anello::receive {
namespace {

FragmentColumns lay_out(memory::ColumnLayout& layout, const BlockShape& shape) noexcept {
    FragmentColumns columns{};
    columns.packet = layout.column<PacketStamp>(shape.max_packets);
    columns.timestamp_ticks = layout.column<std::uint32_t>(shape.max_fragments);
    columns.hit_begin = layout.column<std::uint32_t>(std::size_t{shape.max_fragments} + 1);
    columns.fine_time = layout.column<std::uint8_t>(shape.max_fragments);
    columns.hit_id = layout.column<std::uint16_t>(std::size_t{shape.max_hits} + hit_slack);
    columns.hit_time_fine = layout.column<std::int16_t>(std::size_t{shape.max_hits} + hit_slack);
    return columns;
}

}  // namespace

std::size_t block_bytes(const BlockShape& shape) noexcept {
    memory::ColumnLayout layout(nullptr);
    lay_out(layout, shape);
    return layout.used_bytes();
}

FragmentColumns columns_of(std::span<std::byte> buffer, const BlockShape& shape) noexcept {
    ANELLO_ASSERT(buffer.size() >= block_bytes(shape));
    memory::ColumnLayout layout(buffer.data());
    return lay_out(layout, shape);
}

}  // namespace anello::receive
