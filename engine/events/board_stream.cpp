// SPDX-License-Identifier: Apache-2.0
#include "events/board_stream.hpp"

#include <algorithm>

#include "core/assert.hpp"

namespace anello::events {
namespace {

constexpr std::uint64_t index_mask = (std::uint64_t{1} << 24) - 1;

}  // namespace

BoardStream::BoardStream(BlockSource& source, std::uint32_t board, std::uint32_t max_blocks,
                         std::uint32_t max_fragments)
    : source_(source), board_(board), max_fragments_(max_fragments), blocks_(max_blocks), slots_(max_blocks) {
    for (std::uint32_t i = 0; i < max_blocks; ++i) {
        slots_[i].order = std::make_unique<std::uint64_t[]>(max_fragments);
        blocks_[i] = &slots_[i];
    }
}

BoardStream::Block& BoardStream::push(const receive::Completion& completion) noexcept {
    ANELLO_ASSERT(has_room() && completion.n_fragments <= max_fragments_);
    Block& block = *blocks_[n_blocks_++];
    block.completion = completion;
    block.columns = source_.columns(board_, completion.buffer);
    block.active = false;
    return block;
}

void BoardStream::queue(const receive::Completion& completion) noexcept {
    push(completion);
    ++n_waiting_;
}

void BoardStream::add(const receive::Completion& completion, std::uint64_t near_ticks,
                      std::uint64_t late_before_ticks) noexcept {
    Block& block = push(completion);
    save_cursor();
    activate(block, near_ticks);
    if (completion.n_fragments == 0)
        retire(block);
    else
        drop_late(block, late_before_ticks);
    settle();
}

void BoardStream::drop_before(std::uint64_t ticks) noexcept {
    if (head_time_ == no_fragment || ticks_of(head_time_) >= ticks) return;
    save_cursor();
    for (Block* block = earliest(); block != nullptr && ticks_of(block->next_time) < ticks; block = earliest())
        drop_late(*block, ticks);
    settle();
}

void BoardStream::drop_current(Dropped::Amount& amount) noexcept {
    save_cursor();
    for (Block* block = earliest(); block != nullptr; block = earliest()) {
        do drop_fragment(*block, amount);
        while (step(*block));
    }
    settle();
}

/// Drops the oldest waiting block; returns false if there is none.
bool BoardStream::drop_waiting(Dropped::Amount& amount) noexcept {
    const auto end = blocks_.begin() + n_blocks_;
    const auto oldest = std::find_if(blocks_.begin(), end, [](const Block* block) { return !block->active; });
    if (oldest == end) return false;
    amount.n_fragments += (*oldest)->completion.n_fragments;
    amount.n_hits += (*oldest)->completion.n_hits;
    --n_waiting_;
    retire(**oldest);
    return true;
}

void BoardStream::drop_fragment(const Block& block, Dropped::Amount& amount) const noexcept {
    ++amount.n_fragments;
    amount.n_hits += n_hits_at(block, block.position);
}

void BoardStream::drop(const receive::Completion& completion) noexcept {
    dropped_.late.n_fragments += completion.n_fragments;
    dropped_.late.n_hits += completion.n_hits;
    source_.give_back(board_, completion.buffer);
}

bool BoardStream::begin_burst(std::uint32_t burst_id, std::uint64_t near_ticks) noexcept {
    used_time_ = no_fragment;
    bool ended = false;
    for (std::uint32_t i = 0; i < n_blocks_;) {
        Block& block = *blocks_[i];
        if (block.completion.burst_id != burst_id) {
            ++i;
            continue;
        }
        ended |= block.completion.reason >= receive::CloseReason::end_of_burst;
        --n_waiting_;
        activate(block, near_ticks);
        if (block.completion.n_fragments == 0)
            retire(block);
        else
            ++i;
    }
    settle();
    return ended;
}

void BoardStream::activate(Block& block, std::uint64_t near_ticks) noexcept {
    block.active = true;
    block.position = 0;
    const std::uint32_t n_fragments = block.completion.n_fragments;
    if (n_fragments == 0) return;
    block.base_ticks = near_ticks;
    if (!block.completion.sorted) {
        sort(block);
        ++dropped_.unsorted_blocks;
    }
    block.next_time = time_at(block, 0);
    block.last_time = time_at(block, n_fragments - 1);
}

/// Packs (time, index) into one number, so that sorting needs no comparison function and no memory.
void BoardStream::sort(Block& block) noexcept {
    const std::uint32_t n_fragments = block.completion.n_fragments;
    const auto base = static_cast<std::uint32_t>(block.base_ticks);
    for (std::uint32_t i = 0; i < n_fragments; ++i) {
        const std::uint32_t shifted = block.columns.timestamp_ticks[i] - base + 0x80000000U;
        block.order[i] = (std::uint64_t{shifted} << 32) | (std::uint64_t{block.columns.fine_time[i]} << 24) | i;
    }
    std::sort(block.order.get(), block.order.get() + n_fragments);
}

std::uint32_t BoardStream::index_at(const Block& block, std::uint32_t position) noexcept {
    return block.completion.sorted ? position : static_cast<std::uint32_t>(block.order[position] & index_mask);
}

FineTime BoardStream::time_at(const Block& block, std::uint32_t position) noexcept {
    const std::uint32_t index = index_at(block, position);
    return fine_time_of(extend_ticks(block.columns.timestamp_ticks[index], block.base_ticks),
                        block.columns.fine_time[index]);
}

std::uint32_t BoardStream::n_hits_at(const Block& block, std::uint32_t position) noexcept {
    const std::uint32_t index = index_at(block, position);
    return block.columns.hit_begin[index + 1] - block.columns.hit_begin[index];
}

/// Skips one fragment. Returns false if it was the block's last, and gives the block back.
bool BoardStream::step(Block& block) noexcept {
    if (++block.position == block.completion.n_fragments) {
        retire(block);
        return false;
    }
    block.next_time = time_at(block, block.position);
    return true;
}

void BoardStream::retire(Block& block) noexcept {
    if (current_ == &block) current_ = nullptr;
    source_.give_back(board_, block.completion.buffer);
    const auto end = blocks_.begin() + n_blocks_;
    std::rotate(std::find(blocks_.begin(), end, &block), std::find(blocks_.begin(), end, &block) + 1, end);
    --n_blocks_;
}

void BoardStream::drop_late(Block& block, std::uint64_t late_before_ticks) noexcept {
    bool more = true;
    while (more && ticks_of(block.next_time) < late_before_ticks) {
        drop_fragment(block, dropped_.late);
        more = step(block);
    }
}

/// Writes the cursor's position back to its block.
void BoardStream::save_cursor() noexcept {
    if (current_ == nullptr || cursor_.fast_end == 0) return;
    current_->position = cursor_.index;
    current_->next_time = head_time_;
}

void BoardStream::load_cursor(Block& block) noexcept {
    current_ = &block;
    head_time_ = block.next_time;
    const receive::FragmentColumns& columns = block.columns;
    cursor_.timestamp_ticks = columns.timestamp_ticks;
    cursor_.fine_time = columns.fine_time;
    cursor_.hit_begin = columns.hit_begin;
    cursor_.hit_id = columns.hit_id;
    cursor_.hit_time_fine = columns.hit_time_fine;
    cursor_.base_ticks = block.base_ticks;
    cursor_.index = index_at(block, block.position);
    cursor_.fast_end = block.completion.sorted && !overtakes(block) ? block.completion.n_fragments : 0;
    cursor_.placed_ns = block.completion.closed_ns;
    cursor_.sent_ns = cursor_.kernel_ns = 0;
    const receive::PacketStamp* const begin = columns.packet;
    const receive::PacketStamp* const end = begin + block.completion.n_packets;
    const auto* const after =
        std::upper_bound(begin, end, cursor_.index,
                         [](std::uint32_t index, const receive::PacketStamp& p) { return index < p.first_fragment; });
    cursor_.packet_end = after == end ? block.completion.n_fragments : after->first_fragment;
    cursor_.packet = static_cast<std::uint32_t>(after - begin);
    if (after == begin) return;
    cursor_.sent_ns = after[-1].sent_ns;
    cursor_.kernel_ns = after[-1].kernel_ns;
}

/// True if another block has fragments before this block's end, so that the two must be merged.
bool BoardStream::overtakes(const Block& block) const noexcept {
    for (std::uint32_t i = 0; i < n_blocks_; ++i)
        if (blocks_[i] != &block && blocks_[i]->active && blocks_[i]->next_time < block.last_time) return true;
    return false;
}

BoardStream::Block* BoardStream::earliest() noexcept {
    Block* first = nullptr;
    for (std::uint32_t i = 0; i < n_blocks_; ++i)
        if (blocks_[i]->active && (first == nullptr || blocks_[i]->next_time < first->next_time)) first = blocks_[i];
    return first;
}

/// Finds the head among all blocks, and drops fragments that repeat the last one used.
FineTime BoardStream::settle() noexcept {
    for (Block* block = earliest(); block != nullptr; block = earliest()) {
        if (block->next_time != used_time_) {
            load_cursor(*block);
            return head_time_;
        }
        drop_fragment(*block, dropped_.duplicates);
        step(*block);
    }
    current_ = nullptr;
    return head_time_ = no_fragment;
}

FineTime BoardStream::advance_slowly() noexcept {
    // In fast mode the cursor's index is already the next one, while the block still has the position when it was
    // loaded.
    if (cursor_.fast_end != 0) current_->position = cursor_.index - 1;
    step(*current_);
    return settle();
}

void BoardStream::next_packet() noexcept {
    const receive::PacketStamp* const packet = current_->columns.packet;
    const std::uint32_t n_packets = current_->completion.n_packets;
    // a packet without fragments ends where it begins, hence the loop
    for (; cursor_.packet_end == cursor_.index && cursor_.packet < n_packets; ++cursor_.packet) {
        cursor_.sent_ns = packet[cursor_.packet].sent_ns;
        cursor_.kernel_ns = packet[cursor_.packet].kernel_ns;
        cursor_.packet_end = cursor_.packet + 1 < n_packets ? packet[cursor_.packet + 1].first_fragment
                                                            : current_->completion.n_fragments;
    }
}

}  // namespace anello::events
