// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/kernel_handle.hpp"
#include "receive/boards/receive_config.hpp"
#include "receive/card/datagram_blocks.hpp"
#include "receive/card/sequence_books.hpp"
#include "receive/datagrams/port_counters.hpp"
#include "wire/packet_format.hpp"

namespace anello::receive {

struct ClopConfig {
    std::uint16_t port = 0;  ///< 0: any free one
    DatagramBlocksConfig buffers = {};
    std::string format = {};                    ///< one of wire::packet_formats(), to check packets; empty: raw
    Nanoseconds gathering_time_ns = 200'000;    ///< longest time from a buffer's first datagram to its hand-over
    FullPolicy full_policy = FullPolicy::wait;  ///< overwrite_oldest: reuses full buffers that were not taken
    std::size_t max_sources = 64;               ///< whose sequence numbers are tracked, with a format
};

/// Description of one datagram in a buffer.
struct DatagramRecord {
    std::uint64_t offset_bytes;  ///< from the start of the buffer; a multiple of 64
    std::uint32_t length_bytes;
    std::uint32_t source_host;  ///< IPv4 address, in the host's byte order; 0 = not known
    std::uint16_t source_port;
    wire::Verdict verdict;      ///< of the format; ok without a format, wrong_length if the datagram was cut
    std::uint8_t has_sequence;  ///< 1: `sequence` is valid
    std::uint32_t sequence;     ///< the packet's number, as defined by the format
    std::uint32_t source_id;    ///< source, board or module, in the format's numbering
    std::uint32_t n_items;      ///< events, hits or fragments in it
    std::int64_t sent_ns;       ///< sender's wall clock, 0 = not known
    std::int64_t kernel_ns;     ///< kernel's receive stamp (wall clock), 0 = none
};

/// A full buffer, valid until it is given back.
struct ClopBuffer {
    std::uint32_t number = 0;
    std::span<const std::byte> bytes;                ///< the whole buffer
    std::span<const DatagramRecord> datagrams = {};  ///< in the order of arrival
};

/// A circular list of persistent buffers, NaNet's CLOP: all datagrams of one UDP port, packed into buffers that are
/// allocated once and reused. Card uses the receiver's side, below; one thread of the program uses the other side.
class Clop {
  public:
    Clop(const ClopConfig& config, CounterPage& page, std::size_t number);  ///< Throws ConfigError, SystemError.

    // --- The program's thread. All are hot path: no allocation, no lock, no log, no throw.
    /// Takes the oldest full buffer; false if there is none. The program may hold any number of buffers.
    bool try_take(ClopBuffer& buffer) noexcept;
    /// Waits for a buffer, -1: for ever. Returns false at the timeout, or if no more buffers will come (is_finished()).
    bool wait(ClopBuffer& buffer, Nanoseconds timeout_ns) noexcept;
    /// Gives back any buffer that the program holds, in any order.
    void give_back(const ClopBuffer& buffer) noexcept { blocks_.give_back(buffer.number); }
    /// Readable when there may be a buffer, after try_take() found none; always readable once finished.
    int descriptor() const noexcept { return bell_.number(); }
    /// True if no more data will come: the card has stopped, or its file has ended. There may still be buffers to take.
    bool is_finished() const noexcept { return finished_.load(std::memory_order_acquire); }
    /// The senders of the buffers taken, and what the sequence numbers of their packets show.
    std::span<const SequencedSource> sources() const noexcept {
        return sequences_ ? sequences_->sources() : std::span<const SequencedSource>{};
    }
    std::uint16_t port() const noexcept { return port_; }
    const memory::PersistentBuffers& buffers() const noexcept { return blocks_.buffers(); }

    /// Any thread. blocks_dropped counts datagrams for which there was no buffer.
    const Counters<PortCounter>& counters() const noexcept { return counters_; }
    const Counters<wire::Verdict>& verdicts() const noexcept { return verdicts_; }
    const Counters<CardCounter>& losses() const noexcept { return losses_; }

    // --- The receiving thread
    void set_port(std::uint16_t port) noexcept { port_ = port; }  ///< The system's choice; before reception.
    bool wants(std::size_t n_datagrams) noexcept {
        return config_.full_policy != FullPolicy::wait || blocks_.has_room(n_datagrams);
    }
    /// Returns false if there is no buffer and the datagram must be offered again (policy wait).
    bool try_add(const Datagram& datagram, Nanoseconds monotonic_ns) noexcept;
    void drop(const Datagram& datagram) noexcept;
    /// Hands on a buffer whose time is over; returns true if a buffer is still open.
    bool on_time(Nanoseconds monotonic_ns) noexcept;
    void show(std::uint64_t n_kernel_dropped, std::uint64_t n_super_packets) noexcept;
    void finish() noexcept;  ///< Hands on the open buffer, and wakes the waiting thread.

  private:
    void count(const Datagram& datagram) noexcept;
    bool overwrite_oldest() noexcept;
    DatagramRecord record_of(const Datagram& datagram, const std::byte* buffer) noexcept;

    const ClopConfig config_;
    const wire::PacketFormat* const format_;  ///< null: raw
    DatagramBlocks blocks_;
    std::unique_ptr<DatagramRecord[]> records_;  ///< [buffer][datagram], written by the taking side
    Descriptor bell_;
    Counters<PortCounter> counters_;
    Counters<wire::Verdict> verdicts_;  ///< written by the taking side
    Counters<CardCounter> losses_;      ///< overwritten is the receiving thread's, all others are the taking thread's
    std::optional<SequenceBooks> sequences_;  ///< used by the taking thread; none: raw
    Nanoseconds opened_ns_ = 0;               ///< monotonic: first datagram in the open buffer
    std::uint64_t n_notified_ = 0;            ///< number of buffers of which the other side has been notified
    std::uint16_t port_;
    std::atomic<bool> finished_{false};
};

}  // namespace anello::receive
