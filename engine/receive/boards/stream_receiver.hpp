// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/counters/counters.hpp"
#include "receive/boards/announcements.hpp"
#include "receive/boards/block_filler.hpp"
#include "receive/boards/send_times.hpp"
#include "receive/boards/unpacker.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/read_times.hpp"
#include "receive/numbers/board_source.hpp"
#include "receive/numbers/packet_numbers.hpp"

namespace anello::receive {

/// The counters of one stream, as blocks of a CounterPage.
struct StreamCounters {
    Counters<ReceiveCounter> stream;
    Counters<wire::Verdict> verdicts;
};

/// Turns the datagrams of one board into completions: it uses each packet of the board's own source once, follows
/// bursts and restarts of the board, and counts what it does not use by cause. One thread; everything except the
/// constructor is hot path: no allocation, no lock, no log, no throw.
class StreamReceiver {
  public:
    /// `out` must outlive the receiver. Throws ConfigError.
    StreamReceiver(const StreamConfig& config, std::uint16_t stream, std::unique_ptr<Unpacker> unpacker,
                   BlockStream& out, StreamCounters counters, const Clock& clock);

    /// Upper bound of the extra delay of the builder's time-outs when the builder runs on its own thread.
    static constexpr Nanoseconds longest_wait_ns = ReadTimes::longest_gap_ns / 2;

    void on_datagram(const Datagram& datagram) noexcept;
    /// Hands on the block when its gathering time is over, and ends of bursts that waited for a buffer.
    void on_time(Nanoseconds monotonic_ns) noexcept {
        now_ns_ = monotonic_ns;
        blocks_.on_time(monotonic_ns);
    }
    bool gathers() const noexcept { return blocks_.gathers(); }
    /// Time until on_time() must be called.
    Nanoseconds until_due_ns(Nanoseconds monotonic_ns) const noexcept {
        return blocks_.until_due_ns(monotonic_ns, longest_wait_ns);
    }
    /// Called after each read; without a gathering time it hands on the block. read_until_ns comes from ReadTimes.
    void on_read(Nanoseconds read_until_ns) noexcept { blocks_.on_read(read_until_ns); }
    /// Hands on the open block. Returns false while an end of burst waits for a buffer: call it again.
    bool finish() noexcept;

    /// Policy wait: false while so few buffers are free that one read could fill them all.
    bool wants_data() const noexcept { return blocks_.wants_data(); }

    Speakers speakers() const noexcept { return source_.speakers(); }  ///< Any thread.
    /// The packets that never arrived, for the ledger. Call it when the thread has ended.
    const SequenceLog& close_sequence_log() noexcept { return numbers_.close_log(); }

    void set_kernel_dropped(std::uint64_t n_datagrams) noexcept;
    void set_super_packets(std::uint64_t n_messages) noexcept;

  private:
    wire::Verdict unpack(const Datagram& datagram, PacketInfo& packet) noexcept;
    void follow_source(BoardSource::Heard heard) noexcept;
    void remember_account() noexcept;
    void revoke_source() noexcept;

    void on_marker(const PacketInfo& packet) noexcept;
    bool says_restart(const PacketInfo& packet) const noexcept;
    void note_announced(const PacketInfo& packet) noexcept;

    void on_data(const Datagram& datagram, PacketInfo& packet) noexcept;
    bool is_to_be_used(const Datagram& datagram, PacketInfo& packet) noexcept;
    void follow_burst_without_id(PacketInfo& packet, std::uint32_t content) noexcept;
    void begin_epoch() noexcept;
    void enter_burst(std::uint32_t burst_id) noexcept;
    void end_burst(std::uint32_t burst_id) noexcept;
    void place(const Datagram& datagram, const PacketInfo& packet) noexcept;
    void count_placed(const PacketInfo& packet) noexcept;
    void count_dropped(const PacketInfo& packet) noexcept;

    void show_sequence() noexcept;
    void show_announcements() noexcept;

    const std::unique_ptr<Unpacker> unpacker_;
    StreamCounters counters_;
    const Clock& clock_;
    Nanoseconds now_ns_;  ///< monotonic, of the last on_time()
    BlockFiller blocks_;
    BoardSource source_;
    PacketNumbers numbers_;
    BurstFollower bursts_;
    SendTimes sent_;
    Announcements announcements_;
    struct Account {  ///< the account when the source was bound, which is restored if the source is disowned
        SequenceTracker sequence;
        Announcements announcements;
        std::uint64_t n_packets = 0, n_fragments = 0, n_hits = 0;
    };
    Account before_source_;
    struct CountedBursts {  ///< for formats without a burst number
        std::uint32_t id = 0;
        bool awaits_next = false;  ///< the last event of the burst has arrived
    };
    CountedBursts counted_;
    bool finished_ = false;
};

}  // namespace anello::receive
