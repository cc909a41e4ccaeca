// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/counters/counters.hpp"
#include "receive/boards/announcements.hpp"
#include "receive/boards/block_stream.hpp"
#include "receive/boards/burst_follower.hpp"
#include "receive/boards/receive_config.hpp"
#include "receive/boards/receive_counters.hpp"
#include "receive/boards/unpacker.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/read_times.hpp"
#include "receive/numbers/packet_contents.hpp"
#include "receive/numbers/sequence_tracker.hpp"
#include "receive/numbers/source_binding.hpp"

namespace anello::receive {

/// The counters of one stream, as blocks of a CounterPage.
struct StreamCounters {
    Counters<ReceiveCounter> stream;
    Counters<wire::Verdict> verdicts;
};

/// Turns the datagrams of one source into completions. It closes a block when it is full, when its gathering time is
/// over, at the end of a burst, and at the end of the run. One thread; everything except the constructor is hot path:
/// no allocation, no lock, no log, no throw.
class StreamReceiver {
  public:
    /// `out` must outlive the receiver. Throws ConfigError.
    StreamReceiver(const StreamConfig& config, std::uint16_t stream, std::unique_ptr<Unpacker> unpacker,
                   BlockStream& out, StreamCounters counters, const Clock& clock);

    /// Upper bound of the extra delay of the builder's time-outs when the builder runs on its own thread.
    static constexpr Nanoseconds longest_wait_ns = ReadTimes::longest_gap_ns / 2;

    void on_datagram(const Datagram& datagram) noexcept;
    /// Hands on the block when its gathering time is over, and ends of bursts that waited for a buffer.
    void on_time(Nanoseconds monotonic_ns) noexcept;
    bool gathers() const noexcept { return config_.gathering_time_ns > 0; }
    /// Time until on_time() must be called.
    Nanoseconds until_due_ns(Nanoseconds monotonic_ns) const noexcept {
        if (!waiting_ends_.empty()) return 0;
        if (!has_packets()) return longest_wait_ns;
        return std::max<Nanoseconds>(opened_monotonic_ns_ + config_.gathering_time_ns - monotonic_ns, 0);
    }
    /// Called after each read; without a gathering time it hands on the block. read_until_ns comes from ReadTimes.
    void on_read(Nanoseconds read_until_ns) noexcept {
        if (!gathers() && has_packets()) close_block(CloseReason::gathering_time, block_burst_id_);
        read_ns_ += read_until_ns - read_until_ns_;
        read_until_ns_ = read_until_ns;
        out_.set_read_until(has_packets() ? opened_read_until_ns_ : read_until_ns, wants_data());
    }
    /// Hands on the open block. Returns false while an end of burst waits for a buffer: call it again.
    bool finish() noexcept;

    /// Policy wait: false while so few buffers are free that one read could fill them all.
    bool wants_data() const noexcept {
        return config_.full_policy != FullPolicy::wait || out_.buffers().n_free() * 4 > out_.buffers().n_buffers();
    }

    Speakers speakers() const noexcept { return Speakers::of(binding_, watch_); }  ///< Any thread.
    /// The packets that never arrived, for the ledger. Call it when the thread has ended.
    const SequenceLog& close_sequence_log() noexcept {
        sequence_.close_log();
        return sequence_log_;
    }

    void set_kernel_dropped(std::uint64_t n_datagrams) noexcept;
    void set_super_packets(std::uint64_t n_messages) noexcept;

  private:
    enum class Target : std::uint8_t { none, block, scratch };  ///< where packets are unpacked

    wire::Verdict unpack(const Datagram& datagram, PacketInfo& packet) noexcept;
    bool reject_stranger(SourceAddress source, bool is_right) noexcept;
    void remember_account() noexcept;
    void revoke_source() noexcept;
    void on_marker(const PacketInfo& packet) noexcept;
    Nanoseconds origin_of(std::uint32_t burst_id) const noexcept {
        return origin_.burst_id == burst_id ? origin_.wall_ns : 0;
    }
    bool says_restart(const PacketInfo& packet) const noexcept;
    void on_data(const Datagram& datagram, PacketInfo& packet) noexcept;
    bool is_to_be_used(const Datagram& datagram, PacketInfo& packet) noexcept;
    Arrival arrival_of(const PacketInfo& packet, std::uint32_t content) noexcept;
    void follow_burst_without_id(PacketInfo& packet, std::uint32_t content) noexcept;
    void begin_epoch() noexcept;
    void enter_burst(std::uint32_t burst_id) noexcept;
    void place(const Datagram& datagram, const PacketInfo& packet) noexcept;
    void count_placed(const PacketInfo& packet) noexcept;
    void count_dropped(const PacketInfo& packet) noexcept;
    void note_announced(const PacketInfo& packet) noexcept;
    void show_sequence() noexcept;
    void show_announcements() noexcept;

    void aim() noexcept;
    bool reclaim_oldest() noexcept;
    void open_block(std::uint32_t buffer) noexcept;
    bool has_packets() const noexcept { return target_ == Target::block && writer_.n_packets() > 0; }
    void close_block(CloseReason reason, std::uint32_t burst_id) noexcept;
    void end_burst(std::uint32_t burst_id) noexcept;
    void notify_end(EndNotice notice) noexcept;
    void give_waiting_ends() noexcept;
    bool try_give_end(const EndNotice& notice) noexcept;
    void give(const Completion& completion) noexcept;

    const StreamConfig config_;
    const std::uint16_t stream_;
    const std::unique_ptr<Unpacker> unpacker_;
    BlockStream& out_;
    StreamCounters counters_;
    const Clock& clock_;

    SourceBinding binding_;
    SourceWatch watch_;
    Nanoseconds read_until_ns_;         ///< monotonic, before the current read
    Nanoseconds read_ns_ = 0;           ///< time during which this stream was read
    Nanoseconds last_accepted_ns_ = 0;  ///< value of read_ns_ at the source's last datagram
    Nanoseconds last_on_time_ns_ = 0;   ///< monotonic time of the last on_time()
    SequenceTracker sequence_;
    SequenceLog sequence_log_{65'536};
    PacketContents contents_;
    std::optional<std::uint32_t> conflict_next_;  ///< number after the last packet's, if that packet conflicted
    BurstFollower bursts_;
    WaitingEnds waiting_ends_;
    FragmentWriter writer_;
    Target target_ = Target::none;
    std::uint32_t buffer_ = 0;
    std::uint32_t block_burst_id_ = 0;
    Nanoseconds opened_wall_ns_ = 0, opened_monotonic_ns_ = 0;
    Nanoseconds opened_read_until_ns_ = 0;  ///< value of read_until_ns_ when the block was opened
    struct Origin {
        std::uint32_t burst_id = 0;
        Nanoseconds wall_ns = 0;
    };
    Origin origin_;                                                    ///< of the burst whose start was received last
    struct SendTimes {                                                 ///< range of the sender's clock in valid packets
        static constexpr Nanoseconds longest_way_ns = 10'000'000'000;  ///< delayed packets may be this much older
        Nanoseconds oldest_ns = 0, newest_ns = 0;

        void add(Nanoseconds sent_ns) noexcept {
            if (oldest_ns == 0 || sent_ns < oldest_ns) oldest_ns = sent_ns;
            newest_ns = std::max(newest_ns, sent_ns);
        }
        /// A packet may have any time; unsigned differences are always defined.
        bool contain(Nanoseconds sent_ns) const noexcept {
            if (oldest_ns == 0) return false;  // no packet had a time so far
            const std::uint64_t begin = static_cast<std::uint64_t>(oldest_ns) - std::uint64_t{longest_way_ns};
            return static_cast<std::uint64_t>(sent_ns) - begin <= static_cast<std::uint64_t>(newest_ns) - begin;
        }
    };
    SendTimes sent_, sent_before_restart_;
    Announcements announcements_;
    struct Account {  ///< the account when the source was bound, which is restored if the source is disowned
        SequenceTracker sequence;
        Announcements announcements;
        std::uint64_t n_packets = 0, n_fragments = 0, n_hits = 0;
    };
    Account before_source_;
    std::uint32_t counted_burst_id_ = 0;  ///< counts bursts for formats without a burst number
    bool awaits_next_burst_ = false;      ///< for such formats: the last event of the burst has arrived
    bool finished_ = false;
    std::vector<std::byte> scratch_;  ///< checks and counts packets while there is no buffer
};

}  // namespace anello::receive
