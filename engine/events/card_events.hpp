// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/counters/counters.hpp"
#include "core/thread.hpp"
#include "events/batch_writer.hpp"
#include "events/build_counters.hpp"
#include "events/merger_config.hpp"
#include "receive/nanet/nanet_merger.hpp"

namespace anello::events {

/// Makes batches of the events that the network card has merged (receive.nanet_merge). It replaces the Merger and takes
/// its input from a NanetMerger. It has the Merger's counters, set from the card's registers. Those that the card does
/// not have stay 0: hits of late, duplicate and rejected fragments.
///
/// The card reports neither send times nor the start of bursts. One thread calls do_work(); any thread may read
/// counters and states.
class CardEvents {
  public:
    /// Hits of board i are numbered from (config.first_board + i) * n_channels on. All arguments except config must
    /// outlive it. Counters are added to `page` as "build" and "build.board0" and so on. Throws ConfigError.
    CardEvents(const MergerConfig& config, std::uint32_t n_channels, receive::NanetMerger& card,
               memory::PersistentBuffers& batches, BatchSink& sink, const Clock& clock, CounterPage& page);

    /// Hot path: no allocation, no lock, no log, no throw. Returns 0 if there is nothing to do.
    std::size_t do_work() noexcept;
    Nanoseconds longest_wait_ns() const noexcept { return in_burst_ ? usual_wait_ns : longest_idle_ns; }

    /// Any thread: processes the events received so far without waiting for any board; is_drained() returns true when
    /// all are handed on.
    void finish() noexcept { finishing_.store(true, std::memory_order_release); }          // pairs with do_work
    bool is_drained() const noexcept { return drained_.load(std::memory_order_acquire); }  // pairs with do_work

    const Counters<BuildCounter>& counters() const noexcept { return counters_; }
    const Counters<BoardCounter>& board_counters(std::uint32_t board) const noexcept { return boards_[board]; }

  private:
    bool take_events(Nanoseconds now_ns) noexcept;
    bool take_event(const receive::NanetEvent& event) noexcept;
    bool end_burst(std::uint32_t burst_id) noexcept;
    bool close_burst(std::uint32_t burst_id) noexcept;
    bool make_room(const receive::NanetEvent& event) noexcept;
    void append(const receive::NanetEvent& event) noexcept;
    void unpack(std::uint32_t board, std::uint32_t n_hits, const std::byte* from) noexcept;
    std::size_t drain() noexcept;
    void show_counts() noexcept;
    void show_rejected() noexcept;
    std::uint64_t show_board(std::uint32_t board) noexcept;

    static constexpr std::size_t most_hits = 255;  ///< hits of a board in an event

    MergerConfig config_;
    std::uint32_t n_channels_;
    receive::NanetMerger& card_;
    const Clock& clock_;
    Counters<BuildCounter> counters_;
    Counters<receive::NanetMergeCounter> read_;
    std::vector<Counters<BoardCounter>> boards_;
    BatchWriter writer_;
    std::array<std::uint16_t, most_hits> hit_id_{};
    std::array<std::int16_t, most_hits> hit_time_fine_{};
    Nanoseconds placed_ns_ = 0;
    std::uint32_t burst_id_ = 0;
    bool in_burst_ = false;
    std::uint64_t n_taken_ = 0, n_incomplete_ = 0;  ///< events
    std::uint32_t n_readings_ = 0;
    std::atomic<bool> finishing_{false}, drained_{false};
};

}  // namespace anello::events
