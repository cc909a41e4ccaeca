// SPDX-License-Identifier: Apache-2.0
#include "receive/fragment_block.hpp"

#include "core/assert.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t cache_line_bytes = 64;

/// Gives out columns one behind the other, each on its own cache line, so that vector loads are aligned.
class ColumnLayout {
  public:
    explicit ColumnLayout(std::byte* base) noexcept : base_(base) {}

    template <typename T>
    T* column(std::size_t n_items) noexcept {
        const std::size_t begin = used_bytes_;
        used_bytes_ += (n_items * sizeof(T) + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
        return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + begin);
    }
    std::size_t used_bytes() const noexcept { return used_bytes_; }

  private:
    std::byte* base_;
    std::size_t used_bytes_ = 0;
};

FragmentColumns lay_out(ColumnLayout& layout, const BlockShape& shape) noexcept {
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
    ColumnLayout layout(nullptr);
    lay_out(layout, shape);
    return layout.used_bytes();
}

FragmentColumns columns_of(std::span<std::byte> buffer, const BlockShape& shape) noexcept {
    ANELLO_ASSERT(buffer.size() >= block_bytes(shape));
    ColumnLayout layout(buffer.data());
    return lay_out(layout, shape);
}

}  // namespace anello::receive
