// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "receive/nanet/fixed_queue.hpp"
#include "receive/nanet/nanet_card.hpp"
#include "receive/nanet/nanet_merge_counters.hpp"

namespace anello::receive {

/// Settings of the card's merger.
struct NanetMergeConfig {
    std::string library;  ///< the card's model
    std::uint32_t gathering_cycles = 200;
    std::vector<std::uint16_t> source_ids;  ///< in each board's packets; board i is stream i
    std::uint32_t n_channels = 0;           ///< of each board
    std::uint32_t window_ticks = 1;
    /// How far time may advance with fewer than half of the boards. If timeout_cycles is 0, also how long the card
    /// waits for a board, on its own clock.
    Nanoseconds timeout_ns = 20'000'000;
    std::uint32_t timeout_cycles = 0;
    bool keep_incomplete = true;
    bool drop_when_full = false;  ///< drops a packet without room in its board's store; otherwise the card waits
};

/// An event merged by the card, or the end of a burst. Valid until it is taken.
struct NanetEvent {
    static constexpr std::uint32_t most_boards = 8;

    nanet::MergedEvent head;
    nanet::MergedEventUpper upper;
    std::span<const std::byte> hits;  ///< board by board, each padded to a multiple of 8 bytes
    Nanoseconds kernel_ns;            ///< of the newest datagram that the card had read

    static constexpr std::uint8_t incomplete = 1, end_of_burst = 128;  ///< flags
    bool is_end() const noexcept { return (head.flags & end_of_burst) != 0; }
    std::uint32_t n_hits(std::uint32_t board) const noexcept {
        return ((board < 4 ? head.n_hits : upper.n_hits) >> (8 * (board % 4))) & 0xff;
    }
    /// In 1/256 tick after the event.
    std::uint16_t offset(std::uint32_t board) const noexcept {
        return static_cast<std::uint16_t>((board < 4 ? head.offsets : upper.offsets) >> (16 * (board % 4)));
    }
};

/// The card's registers of one board.
struct NanetBoardCounts {
    std::uint32_t late = 0, duplicate = 0, ahead = 0, missing = 0, silenced = 0;
    bool is_silent = false, has_ended = false;
};

/// The simulated network card (rtl/) with its merger. It gets frames and writes merged events into this process's
/// memory, from where they are lent. A buffer returns to the card in do_work() after all of it was taken.
///
/// Frames are sent as dense as a line of 10 Gb/s allows, but never more than the card's payload buffer can hold until
/// they are processed. So frames that the merger delays wait outside of the card, and the card drops none for lack of
/// room. The card's clock stands still without work. While a burst is open it also runs without frames, so that a board
/// can become silent by that clock: one or two microseconds of real time are 6.4 ns of it.
class NanetMerger {
  public:
    /// Counters: "nanet", "nanet.merge". Throws ConfigError, SystemError.
    NanetMerger(const NanetMergeConfig& config, std::unique_ptr<NanetFrames> frames, CounterPage& page);

    std::size_t n_boards() const noexcept { return n_boards_; }
    const NanetFrames& frames() const noexcept { return card_.frames(); }
    const Counters<NanetMergeCounter>& counters() const noexcept { return counters_; }
    const Counters<NanetCounter>& card_counters() const noexcept { return card_.counters(); }

    // All are hot path: no allocation, no lock, no log, no throw. One thread. Takes frames and runs the card for some
    // cycles. Returns 0 if there was nothing to do, or events must be taken first.
    std::size_t do_work() noexcept;
    /// Takes no more frames; the card stops waiting and delivers what it has. Returns true when all is delivered.
    bool finish() noexcept;
    /// Shows the next event in memory; false if there is none.
    bool try_look(NanetEvent& event) noexcept;
    void take() noexcept;  ///< Takes the event that try_look() showed.

    /// Incremented with every reading of the card's registers.
    std::uint32_t n_readings() const noexcept { return n_readings_; }
    const NanetBoardCounts& board(std::uint32_t board) const noexcept { return boards_[board]; }

    /// Any thread. True if no more events will come: the file has ended, or the card does not answer.
    bool finished() const noexcept { return finished_.load(std::memory_order_relaxed); }
    // For the operator, any thread.
    std::string describe() const;
    std::string trouble() const { return card_.trouble(); }

  private:
    struct Sent {
        std::uint32_t first_beat;
        Nanoseconds kernel_ns;
    };
    static constexpr std::size_t n_remembered = 512;  ///< frames whose stamps are kept; a power of two

    void set_up(const NanetMergeConfig& config);
    bool take_frames() noexcept;
    void send_frames() noexcept;
    void run_on() noexcept;
    std::size_t wait_on() noexcept;
    std::size_t stand_still() noexcept;
    void give_back() noexcept;
    void step_for(std::uint32_t n_cycles) noexcept;
    void step() noexcept;
    void read_counts() noexcept;
    bool open_record() noexcept;
    void close_record() noexcept;
    bool read_event(NanetEvent& event) noexcept;
    Nanoseconds kernel_stamp(std::uint32_t first_beat) const noexcept;

    NanetCard card_;
    Counters<NanetMergeCounter> counters_;
    std::uint32_t n_boards_, n_card_boards_ = 0, gathering_cycles_;
    std::uint64_t timeout_cycles_;

    // Input frames
    std::vector<NanetFrame> round_;
    std::size_t n_round_ = 0, n_given_ = 0;
    std::size_t n_bytes_inside_ = 0;  ///< upper bound of the bytes that the card still has
    bool is_through_ = true;          ///< the card has processed all frames sent
    FixedQueue<Nanoseconds> stamps_;  ///< of frames that the card has not begun to receive
    std::array<Sent, n_remembered> sent_{};
    std::size_t n_sent_ = 0;

    // Output buffers
    FixedQueue<NanetHost::Full> full_{NanetCard::most_buffers};
    std::size_t at_ = 0;               ///< offset of the next record in the first buffer
    std::uint32_t n_records_ = 0;      ///< records opened in that buffer
    std::span<const std::byte> rest_;  ///< rest of the current record; empty: none
    std::size_t event_bytes_ = 0;      ///< size of the event that try_look() showed
    Nanoseconds kernel_ns_ = 0;
    std::uint32_t n_done_ = 0;  ///< buffers to return

    std::array<NanetBoardCounts, NanetEvent::most_boards> boards_{};
    std::uint32_t n_readings_ = 0;
    std::uint64_t counted_at_ = 0;    ///< cycle
    std::uint64_t newest_frame_ = 0;  ///< cycle in which the last frame was sent
    unsigned n_idle_ = 0;             ///< consecutive calls without frames
    bool is_finishing_ = false;
    std::atomic<bool> finished_{false};
    std::uint64_t newest_buffer_ = 0;  ///< cycle in which the last buffer was received
};

}  // namespace anello::receive
