// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "events/block_source.hpp"
#include "events/fine_time.hpp"

namespace anello::events {

/// The fragment at the head of a board's stream, valid until the stream advances.
struct Fragment {
    const std::uint16_t* hit_id;
    const std::int16_t* hit_time_fine;
    std::uint32_t n_hits;
    Nanoseconds sent_ns, kernel_ns, placed_ns;
};

/// Dropped fragments of one board; the merger moves them into its counters.
struct Dropped {
    struct Amount {
        std::uint64_t n_fragments = 0, n_hits = 0;
    };
    Amount ahead, late, duplicates, disowned;
    std::uint64_t unsorted_blocks = 0;
};

/// One board's full blocks as one stream of fragments in order of time. Blocks may be unsorted and may overlap; only
/// blocks of the current burst take part, those of other bursts wait. Hot path (all except the constructor): no
/// allocation, no lock, no log, no throw.
class BoardStream {
  public:
    BoardStream(BlockSource& source, std::uint32_t board, std::uint32_t max_blocks, std::uint32_t max_fragments);

    bool has_room() const noexcept { return n_blocks_ < slots_.size(); }
    bool is_empty() const noexcept { return n_blocks_ == 0; }
    bool has_waiting() const noexcept { return n_waiting_ > 0; }  ///< True if blocks of another burst wait.

    /// Queues a block without looking at its fragments. There must be room.
    void queue(const receive::Completion& completion) noexcept;
    /// Adds a block of the current burst. Its fragments before `late_before_ticks` are dropped as late.
    void add(const receive::Completion& completion, std::uint64_t near_ticks, std::uint64_t late_before_ticks) noexcept;
    /// Drops all fragments before the tick as late.
    void drop_before(std::uint64_t ticks) noexcept;
    /// Drops the rest of the current burst as too far ahead.
    void drop_ahead() noexcept { drop_current(dropped_.ahead); }
    /// Drops the oldest block that waits for another burst as late; returns false if there is none.
    bool drop_oldest_waiting() noexcept { return drop_waiting(dropped_.late); }
    /// Drops everything, because it came from another sender.
    void disown() noexcept {
        while (drop_waiting(dropped_.disowned)) {
        }
        drop_current(dropped_.disowned);
    }
    /// Drops a whole block as late.
    void drop(const receive::Completion& completion) noexcept;

    /// Begins a burst with the blocks queued for it. Returns true if one of them ends the burst for this board.
    bool begin_burst(std::uint32_t burst_id, std::uint64_t near_ticks) noexcept;
    /// Visits the blocks that wait for another burst, in the order of arrival.
    template <typename Visit>
    void for_each_waiting(Visit visit) const noexcept {
        for (std::uint32_t i = 0; i < n_blocks_; ++i)
            if (!blocks_[i]->active) visit(blocks_[i]->completion, blocks_[i]->columns);
    }

    FineTime head_time() const noexcept { return head_time_; }
    Nanoseconds head_given_ns() const noexcept { return current_->completion.given_ns; }  ///< Valid if there is a head.
    Fragment fragment() const noexcept {
        const std::uint32_t begin = cursor_.hit_begin[cursor_.index];
        return {cursor_.hit_id + begin,
                cursor_.hit_time_fine + begin,
                cursor_.hit_begin[cursor_.index + 1] - begin,
                cursor_.sent_ns,
                cursor_.kernel_ns,
                cursor_.placed_ns};
    }
    std::uint32_t n_hits() const noexcept {
        return cursor_.hit_begin[cursor_.index + 1] - cursor_.hit_begin[cursor_.index];
    }

    /// Moves past the head, which has been used. Returns the new head's time, or no_fragment if there is none yet.
    FineTime advance() noexcept {
        used_time_ = head_time_;
        if (++cursor_.index < cursor_.fast_end) {
            const auto distance = static_cast<std::int32_t>(cursor_.timestamp_ticks[cursor_.index] -
                                                            static_cast<std::uint32_t>(cursor_.base_ticks));
            const FineTime next =
                fine_time_of(cursor_.base_ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance)),
                             cursor_.fine_time[cursor_.index]);
            if (next != used_time_) {
                if (cursor_.index == cursor_.packet_end) next_packet();
                return head_time_ = next;
            }
        }
        return advance_slowly();
    }

    Dropped& dropped() noexcept { return dropped_; }

  private:
    struct Block {
        receive::Completion completion;
        receive::FragmentColumns columns;
        std::uint64_t base_ticks;                ///< timestamps are extended to be near this
        FineTime next_time;                      ///< of the fragment at `position`
        FineTime last_time;                      ///< of its last fragment in order of time
        std::uint32_t position;                  ///< of the next fragment in order of time
        bool active;                             ///< belongs to the current burst
        std::unique_ptr<std::uint64_t[]> order;  ///< unsorted blocks: position -> time | fine | index
    };

    /// The head, copied from its block so that advance() touches one cache line and the columns.
    struct Cursor {
        const std::uint32_t* timestamp_ticks = nullptr;
        const std::uint8_t* fine_time = nullptr;
        const std::uint32_t* hit_begin = nullptr;
        const std::uint16_t* hit_id = nullptr;
        const std::int16_t* hit_time_fine = nullptr;
        std::uint64_t base_ticks = 0;
        std::uint32_t index = 0;
        std::uint32_t fast_end = 0;    ///< below this index the next fragment is simply the next index; 0: never
        std::uint32_t packet_end = 0;  ///< first fragment of the next packet
        std::uint32_t packet = 0;
        Nanoseconds sent_ns = 0, kernel_ns = 0, placed_ns = 0;
    };

    Block& push(const receive::Completion& completion) noexcept;
    void activate(Block& block, std::uint64_t near_ticks) noexcept;
    static void sort(Block& block) noexcept;
    static std::uint32_t index_at(const Block& block, std::uint32_t position) noexcept;
    static FineTime time_at(const Block& block, std::uint32_t position) noexcept;
    static std::uint32_t n_hits_at(const Block& block, std::uint32_t position) noexcept;
    bool step(Block& block) noexcept;
    void retire(Block& block) noexcept;
    void drop_current(Dropped::Amount& amount) noexcept;
    bool drop_waiting(Dropped::Amount& amount) noexcept;
    void drop_fragment(const Block& block, Dropped::Amount& amount) const noexcept;
    void drop_late(Block& block, std::uint64_t late_before_ticks) noexcept;
    void save_cursor() noexcept;
    void load_cursor(Block& block) noexcept;
    Block* earliest() noexcept;
    bool overtakes(const Block& block) const noexcept;
    FineTime settle() noexcept;
    FineTime advance_slowly() noexcept;
    void next_packet() noexcept;

    Cursor cursor_;
    FineTime head_time_ = no_fragment;
    FineTime used_time_ = no_fragment;  ///< of the last fragment used in this burst
    Block* current_ = nullptr;          ///< block of the cursor
    Dropped dropped_;
    BlockSource& source_;
    std::uint32_t board_;
    std::uint32_t max_fragments_;
    std::uint32_t n_blocks_ = 0, n_waiting_ = 0;
    std::vector<Block*> blocks_;  ///< [0, n_blocks_) in use, in the order of arrival; the rest free
    std::vector<Block> slots_;
};

}  // namespace anello::events
