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
    std::string format = {};                    ///< of wire::packet_formats(), checked packet by packet; empty: raw
    Nanoseconds gathering_time_ns = 200'000;    ///< a buffer is handed on at latest this long after its first datagram
    FullPolicy full_policy = FullPolicy::wait;  ///< overwrite_oldest: of the full buffers that nobody has taken
    std::size_t max_sources = 64;               ///< whose packets are followed by their numbers, with a format
};

/// What is known of one datagram in a buffer.
struct DatagramRecord {
    std::uint64_t offset_bytes;  ///< from the buffer's begin; a multiple of 64
    std::uint32_t length_bytes;
    std::uint32_t source_host;  ///< IPv4 address, in the host's byte order; 0 = not known
    std::uint16_t source_port;
    wire::Verdict verdict;      ///< of the format; ok where there is none, wrong_length for what was cut
    std::uint8_t has_sequence;  ///< 1: `sequence` is one
    std::uint32_t sequence;     ///< by which the source counts its packets, as the format has it
    std::uint32_t source_id;    ///< source, board or module, as the format numbers them
    std::uint32_t n_items;      ///< events, hits or fragments in it
    std::int64_t sent_ns;       ///< sender's wall clock, 0 = not known
    std::int64_t kernel_ns;     ///< kernel's receive stamp (wall clock), 0 = none
};

/// A full buffer: borrowed until it is given back.
struct ClopBuffer {
    std::uint32_t number = 0;
    std::span<const std::byte> bytes;                ///< all of the buffer
    std::span<const DatagramRecord> datagrams = {};  ///< in the order of arrival
};

/// A circular list of persistent buffers, NaNet's CLOP: all datagrams of one UDP port, packed into buffers that are
/// taken once and go round. Receiver's side below, for Card; the other side belongs to one thread of the program.
class Clop {
  public:
    Clop(const ClopConfig& config, CounterPage& page, std::size_t number);  ///< Throws ConfigError, SystemError.

    // --- The program's thread. Hot path, all: no allocation, no lock, no log, no throw.
    /// The oldest full buffer; false: there is none now. Any number of buffers may be held at once.
    bool try_take(ClopBuffer& buffer) noexcept;
    /// Waits for it, -1: for ever. False: none came in time, or none will come any more (is_finished()).
    bool wait(ClopBuffer& buffer, Nanoseconds timeout_ns) noexcept;
    /// Any buffer that is held, in any order.
    void give_back(const ClopBuffer& buffer) noexcept { blocks_.give_back(buffer.number); }
    /// Readable when there may be a buffer, after try_take() found none; always, once it is finished.
    int descriptor() const noexcept { return bell_.number(); }
    /// Nothing more will come: the card has stopped, or its file is at its end. There may still be buffers to take.
    bool is_finished() const noexcept { return finished_.load(std::memory_order_acquire); }
    /// Who sent what was taken, as the numbers of a format's packets tell.
    std::span<const SequencedSource> sources() const noexcept {
        return sequences_ ? sequences_->sources() : std::span<const SequencedSource>{};
    }
    std::uint16_t port() const noexcept { return port_; }
    const memory::PersistentBuffers& buffers() const noexcept { return blocks_.buffers(); }

    /// Any thread. Datagrams for which there was no buffer are its blocks_dropped.
    const Counters<PortCounter>& counters() const noexcept { return counters_; }
    const Counters<wire::Verdict>& verdicts() const noexcept { return verdicts_; }
    const Counters<CardCounter>& losses() const noexcept { return losses_; }

    // --- The receiving thread.
    void set_port(std::uint16_t port) noexcept { port_ = port; }  ///< As the system chose it; before anything comes.
    bool wants(std::size_t n_datagrams) noexcept {
        return config_.full_policy != FullPolicy::wait || blocks_.has_room(n_datagrams);
    }
    /// False: there is no buffer, and the datagram is to be offered again (policy wait).
    bool try_add(const Datagram& datagram, Nanoseconds monotonic_ns) noexcept;
    void drop(const Datagram& datagram) noexcept;
    /// Hands on what is due; returns whether something is still open.
    bool on_time(Nanoseconds monotonic_ns) noexcept;
    void show(std::uint64_t n_kernel_dropped, std::uint64_t n_super_packets) noexcept;
    void finish() noexcept;  ///< Hands on what is there, and wakes who waits.

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
    Counters<wire::Verdict> verdicts_;        ///< written by the taking side
    Counters<CardCounter> losses_;            ///< overwritten: by the receiving side; all else: by the taking side
    std::optional<SequenceBooks> sequences_;  ///< the taking side's; none: raw
    Nanoseconds opened_ns_ = 0;               ///< monotonic: first datagram in the open buffer
    std::uint64_t n_told_ = 0;                ///< buffers handed on of which the other side knows
    std::uint16_t port_;
    std::atomic<bool> finished_{false};
};

}  // namespace anello::receive
