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

/// What the card's merger is set to.
struct NanetMergeConfig {
    std::string library;  ///< the card's model
    std::uint32_t gathering_cycles = 200;
    std::vector<std::uint16_t> source_ids;  ///< in the packets of each board; board i is stream i
    std::uint32_t n_channels = 0;           ///< of a board
    std::uint32_t window_ticks = 1;
    /// How far time may go while fewer than half of the boards follow; and where timeout_cycles is 0, how long the card
    /// waits for a board, by its own clock.
    Nanoseconds timeout_ns = 20'000'000;
    std::uint32_t timeout_cycles = 0;
    bool keep_incomplete = true;
    bool drop_when_full = false;  ///< a packet without room in its board's store; else it is waited with
};

/// An event as the card merged it, or the end of a burst. Borrowed until it is taken.
struct NanetEvent {
    static constexpr std::uint32_t most_boards = 8;

    nanet::MergedEvent head;
    nanet::MergedEventUpper upper;
    std::span<const std::byte> hits;  ///< board by board, each one's filled up to a multiple of 8 bytes
    Nanoseconds kernel_ns;            ///< of the newest datagram that the card had read

    static constexpr std::uint8_t incomplete = 1, end_of_burst = 128;  ///< flags
    bool is_end() const noexcept { return (head.flags & end_of_burst) != 0; }
    std::uint32_t n_hits(std::uint32_t board) const noexcept {
        return ((board < 4 ? head.n_hits : upper.n_hits) >> (8 * (board % 4))) & 0xff;
    }
    /// 1/256 tick after the event.
    std::uint16_t offset(std::uint32_t board) const noexcept {
        return static_cast<std::uint16_t>((board < 4 ? head.offsets : upper.offsets) >> (16 * (board % 4)));
    }
};

/// What the card's registers say of one board.
struct NanetBoardCounts {
    std::uint32_t late = 0, duplicate = 0, ahead = 0, missing = 0, silenced = 0;
    bool is_silent = false, has_ended = false;
};

/// The network card's sources (rtl/), simulated, with its merger: frames go in, the card writes merged events into
/// memory of ours, and they are lent from there. A buffer is the card's again when all of it was taken and do_work()
/// is called.
///
/// Frames go in as close as a line of 10 Gb/s allows, but never more than the card's payload buffer holds before it is
/// through with them: what the merger holds up waits in front of the card, and the card drops none for want of room.
/// The card's clock stands still while there is nothing to do. It goes on without frames as long as a burst is open, so
/// that a board falls silent, which is by that clock: a microsecond or two of ours are 6.4 ns of it.
class NanetMerger {
  public:
    /// Counters: "nanet", "nanet.merge". Throws ConfigError, SystemError.
    NanetMerger(const NanetMergeConfig& config, std::unique_ptr<NanetFrames> frames, CounterPage& page);

    std::size_t n_boards() const noexcept { return n_boards_; }
    const NanetFrames& frames() const noexcept { return card_.frames(); }
    const Counters<NanetMergeCounter>& counters() const noexcept { return counters_; }
    const Counters<NanetCounter>& card_counters() const noexcept { return card_.counters(); }

    // Hot path, all: no allocation, no lock, no log, no throw. One thread.
    /// Takes frames in, and lets the card work for some cycles. Returns 0 where there was nothing to do, or events are
    /// to be taken first.
    std::size_t do_work() noexcept;
    /// No more frames are taken: the card gives up waiting, and what it has comes out. True: all of it has.
    bool finish() noexcept;
    /// The next event in memory; false: there is none now.
    bool try_look(NanetEvent& event) noexcept;
    void take() noexcept;  ///< That one.

    /// Raised with every reading of the card's registers.
    std::uint32_t n_readings() const noexcept { return n_readings_; }
    const NanetBoardCounts& board(std::uint32_t board) const noexcept { return boards_[board]; }

    /// In any thread. Nothing will ever come again: the end of a file, or a card that does not answer.
    bool finished() const noexcept { return finished_.load(std::memory_order_relaxed); }
    // For the operator, in any thread.
    std::string describe() const;
    std::string trouble() const { return card_.trouble(); }

  private:
    struct Sent {
        std::uint32_t first_beat;
        Nanoseconds kernel_ns;
    };
    static constexpr std::size_t n_remembered = 512;  ///< frames, whose stamps are found again; a power of two

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

    // Frames on their way in
    std::vector<NanetFrame> round_;
    std::size_t n_round_ = 0, n_given_ = 0;
    std::size_t n_bytes_inside_ = 0;  ///< at most, of those that the card may still have
    bool is_through_ = true;          ///< with all that was given
    FixedQueue<Nanoseconds> stamps_;  ///< of frames whose first word the card has not seen
    std::array<Sent, n_remembered> sent_{};
    std::size_t n_sent_ = 0;

    // Buffers on their way out
    FixedQueue<NanetHost::Full> full_{NanetCard::most_buffers};
    std::size_t at_ = 0;               ///< of the next record in the first of them
    std::uint32_t n_records_ = 0;      ///< of that buffer that were opened
    std::span<const std::byte> rest_;  ///< of the record that is read; empty: of none
    std::size_t event_bytes_ = 0;      ///< of the event that was looked at
    Nanoseconds kernel_ns_ = 0;
    std::uint32_t n_done_ = 0;  ///< buffers to be given back

    std::array<NanetBoardCounts, NanetEvent::most_boards> boards_{};
    std::uint32_t n_readings_ = 0;
    std::uint64_t counted_at_ = 0;    ///< cycle
    std::uint64_t newest_frame_ = 0;  ///< cycle in which a frame went in last
    unsigned n_idle_ = 0;             ///< times in a row that nothing came
    bool is_finishing_ = false;
    std::atomic<bool> finished_{false};
    std::uint64_t newest_buffer_ = 0;  ///< cycle in which a buffer came out last
};

}  // namespace anello::receive
