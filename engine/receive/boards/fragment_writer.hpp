// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "receive/boards/fragment_block.hpp"

namespace anello::receive {

/// Fills one block packet by packet; a packet's data counts only after commit(). All functions are hot path: no
/// allocation, no lock, no log, no throw.
class FragmentWriter {
  public:
    struct HitSpace {
        std::uint16_t* hit_id;
        std::int16_t* hit_time_fine;
    };

    void open(const FragmentColumns& columns, const BlockShape& shape) noexcept {
        columns_ = columns;
        shape_ = shape;
        columns_.hit_begin[0] = 0;
        written_ = {};
        begin_packet();
    }

    /// Discards everything written since the last commit.
    void begin_packet() noexcept {
        open_ = written_;
        overflowed_ = written_.n_packets == shape_.max_packets;
    }

    /// Opens a fragment with room for `n_hits_at_most`. If the block is full it returns false, and overflowed() is true
    /// from then on.
    bool try_open_fragment(std::uint32_t timestamp_ticks, std::uint8_t fine_time, std::uint32_t n_hits_at_most,
                           HitSpace& space) noexcept {
        if (overflowed_ || open_.n_fragments == shape_.max_fragments ||
            n_hits_at_most > shape_.max_hits - open_.n_hits) {
            overflowed_ = true;
            return false;
        }
        columns_.timestamp_ticks[open_.n_fragments] = timestamp_ticks;
        columns_.fine_time[open_.n_fragments] = fine_time;
        if (open_.n_fragments == 0) open_.first_ticks = timestamp_ticks;
        const auto after_first = static_cast<std::int32_t>(timestamp_ticks - open_.first_ticks);  // across a wrap
        const bool in_order = after_first > open_.last_after_first ||
                              (after_first == open_.last_after_first && fine_time >= open_.last_fine_time);
        open_.sorted &= open_.n_fragments == 0 || in_order;
        open_.last_after_first = after_first;
        open_.last_fine_time = fine_time;
        space = {columns_.hit_id + open_.n_hits, columns_.hit_time_fine + open_.n_hits};
        return true;
    }
    void close_fragment(std::uint32_t n_hits) noexcept {
        open_.n_hits += n_hits;
        columns_.hit_begin[++open_.n_fragments] = open_.n_hits;
    }

    void commit(std::uint32_t sequence, Nanoseconds sent_ns, Nanoseconds kernel_ns) noexcept {
        columns_.packet[open_.n_packets++] = {written_.n_fragments, sequence, sent_ns, kernel_ns};
        written_ = open_;
    }

    bool overflowed() const noexcept { return overflowed_; }
    /// True if no further packet with a fragment can fit.
    bool is_full() const noexcept {
        return written_.n_packets == shape_.max_packets || written_.n_fragments == shape_.max_fragments;
    }
    std::uint32_t n_fragments() const noexcept { return written_.n_fragments; }
    std::uint32_t n_hits() const noexcept { return written_.n_hits; }
    std::uint32_t n_packets() const noexcept { return written_.n_packets; }
    bool sorted() const noexcept { return written_.sorted; }
    std::uint32_t n_open_fragments() const noexcept { return open_.n_fragments - written_.n_fragments; }
    std::uint32_t n_open_hits() const noexcept { return open_.n_hits - written_.n_hits; }

  private:
    struct Extent {
        std::uint32_t n_fragments = 0, n_hits = 0, n_packets = 0, first_ticks = 0;
        std::int32_t last_after_first = 0;
        std::uint8_t last_fine_time = 0;
        bool sorted = true;
    };

    FragmentColumns columns_{};
    BlockShape shape_{};
    Extent written_, open_;
    bool overflowed_ = false;
};

}  // namespace anello::receive
