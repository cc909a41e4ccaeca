// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/counters/counters.hpp"
#include "receive/boards/block_stream.hpp"
#include "receive/boards/burst_follower.hpp"
#include "receive/boards/fragment_writer.hpp"
#include "receive/boards/receive_config.hpp"
#include "receive/boards/receive_counters.hpp"

namespace anello::receive {

/// Fills blocks with the packets of one stream and hands them on. A block is closed when it is full, when its gathering
/// time is over, at the end of a burst, and at the end of the run. An end of burst that finds no free buffer waits for
/// one. One thread; everything except the constructor is hot path: no allocation, no lock, no log, no throw.
class BlockFiller {
  public:
    /// `out` and `clock` must outlive the filler. Throws ConfigError.
    BlockFiller(const StreamConfig& config, std::uint16_t stream, BlockStream& out, Counters<ReceiveCounter> counters,
                const Clock& clock);

    /// Makes sure that a packet can be unpacked into writer(): into a block, or, without a free buffer, into a scratch
    /// block.
    void open() noexcept {
        if (target_ != Target::block) [[unlikely]]
            open_slowly();
    }
    FragmentWriter& writer() noexcept { return writer_; }
    /// Closes the open block early, if it has packets.
    bool try_close_full() noexcept {
        if (!has_packets()) return false;
        close(CloseReason::size);
        return true;
    }
    /// Call it before commit(). True if the packet must be unpacked again, as the block it was in was closed or was a
    /// scratch block; it fits into an empty one.
    bool makes_room() noexcept { return target_ != Target::block && makes_room_slowly(); }
    bool has_room() const noexcept { return target_ == Target::block; }
    /// Keeps the packet that was unpacked; there must be room.
    void commit(const PacketInfo& packet, Nanoseconds kernel_ns) noexcept {
        if (writer_.n_packets() == 0) note_opened(packet.burst_id);
        writer_.commit(packet.sequence, packet.sent_ns, kernel_ns);
        if (writer_.is_full()) close(CloseReason::size);
    }

    /// Packets of this burst follow: a block of another one is closed.
    void enter_burst(std::uint32_t burst_id) noexcept {
        if (has_packets() && burst_id_ != burst_id) close(CloseReason::gathering_time);
    }
    void end_burst(std::uint32_t burst_id) noexcept;
    /// The front end's wall clock at the start of this burst; 0: not known.
    void set_origin(std::uint32_t burst_id, Nanoseconds wall_ns) noexcept { origin_ = {burst_id, wall_ns}; }
    /// What was handed on so far did not come from the board.
    void disown() noexcept;

    void on_time(Nanoseconds monotonic_ns) noexcept {
        if (has_packets() && monotonic_ns - opened_.monotonic_ns >= config_.gathering_time_ns)
            close(CloseReason::gathering_time);
        if (!waiting_ends_.empty()) give_waiting_ends();
    }
    void on_read(Nanoseconds read_until_ns) noexcept {
        if (!gathers() && has_packets()) close(CloseReason::gathering_time);
        read_until_ns_ = read_until_ns;
        out_.set_read_until(has_packets() ? opened_.read_until_ns : read_until_ns, wants_data());
    }
    /// Monotonic, before the current read: until then all datagrams were read.
    Nanoseconds read_until_ns() const noexcept { return read_until_ns_; }
    bool gathers() const noexcept { return config_.gathering_time_ns > 0; }
    /// Time until on_time() must be called, at most `longest_ns`.
    Nanoseconds until_due_ns(Nanoseconds monotonic_ns, Nanoseconds longest_ns) const noexcept {
        if (!waiting_ends_.empty()) return 0;
        if (!has_packets()) return longest_ns;
        return std::max<Nanoseconds>(opened_.monotonic_ns + config_.gathering_time_ns - monotonic_ns, 0);
    }
    bool wants_data() const noexcept {
        return config_.full_policy != FullPolicy::wait || out_.buffers().n_free() * 4 > out_.buffers().n_buffers();
    }

    /// The end of the run, in the burst of `bursts`. Call it once, then give_waiting_ends() until it returns true.
    void finish(const BurstFollower& bursts) noexcept;
    bool give_waiting_ends() noexcept;

  private:
    enum class Target : std::uint8_t { none, block, scratch };  ///< where packets are unpacked

    bool has_packets() const noexcept { return target_ == Target::block && writer_.n_packets() > 0; }
    void open_slowly() noexcept;
    bool makes_room_slowly() noexcept;
    bool reclaim_oldest() noexcept;
    void open_block(std::uint32_t buffer) noexcept;
    void note_opened(std::uint32_t burst_id) noexcept;
    void close(CloseReason reason) noexcept;
    void notify_end(EndNotice notice) noexcept;
    bool try_give_end(const EndNotice& notice) noexcept;
    Nanoseconds origin_of(std::uint32_t burst_id) const noexcept {
        return origin_.burst_id == burst_id ? origin_.wall_ns : 0;
    }
    void give(const Completion& completion) noexcept;

    const StreamConfig config_;
    const std::uint16_t stream_;
    BlockStream& out_;
    Counters<ReceiveCounter> counters_;
    const Clock& clock_;
    Nanoseconds read_until_ns_;

    FragmentWriter writer_;
    Target target_ = Target::none;
    std::uint32_t buffer_ = 0, burst_id_ = 0;  ///< of the open block
    struct Opened {                            ///< when the open block got its first packet
        Nanoseconds wall_ns = 0, monotonic_ns = 0, read_until_ns = 0;
    };
    Opened opened_;
    struct Origin {
        std::uint32_t burst_id = 0;
        Nanoseconds wall_ns = 0;
    };
    Origin origin_;  ///< of the burst whose start was received last
    WaitingEnds waiting_ends_;
    std::vector<std::byte> scratch_;  ///< checks and counts packets while there is no buffer
};

}  // namespace anello::receive
