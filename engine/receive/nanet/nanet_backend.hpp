// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/nanet/fixed_queue.hpp"
#include "receive/nanet/nanet_card.hpp"

namespace anello::receive {

struct NanetBackendConfig {
    std::string library;                   ///< the card's model
    std::uint32_t gathering_cycles = 200;  ///< longest time from a buffer's first record to its hand-over
};

/// The simulated network card (rtl/). It gets frames and writes their payloads into this process's memory, from where
/// the datagrams in its completions are lent without another copy. A buffer returns to the card at the next call after
/// all of it was lent.
///
/// Frames are sent in rounds of at most as many as a list has buffers, so that none is dropped for lack of a buffer; a
/// round ends when all its records have arrived. Between rounds the card's clock stands still: its cycles are those of
/// frames as dense as a line of 10 Gb/s allows, and do not show how long the simulation takes. Frames for our ports
/// without a record count in kernel_dropped and refused; the card's own counters show the reason ("nanet").
class NanetBackend : public Backend {
  public:
    /// page: for the counters; null: a page of its own. Throws ConfigError, SystemError.
    NanetBackend(const NanetBackendConfig& config, std::unique_ptr<NanetFrames> frames, CounterPage* page);

    std::size_t n_streams() const noexcept override { return streams_.size(); }
    std::uint16_t port(std::uint16_t stream) const noexcept override { return card_.frames().port(stream); }
    std::size_t receive(std::span<Datagram> batch) noexcept override;
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override;
    bool is_read(std::uint16_t stream) const noexcept override;
    std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept override;
    std::uint64_t refused(std::uint16_t stream) const noexcept override { return n_refused_[stream].load(relaxed); }
    std::uint64_t n_super_packets(std::uint16_t stream) const noexcept override;
    int descriptor() const noexcept override { return card_.frames().descriptor(); }
    bool has_more_coming() const noexcept override { return card_.frames().has_more_coming(); }
    bool finished() const noexcept override;
    std::string describe() const override;
    std::string trouble() const override { return card_.trouble(); }

    const Counters<NanetCounter>& counters() const noexcept { return card_.counters(); }

  private:
    static constexpr std::memory_order relaxed = std::memory_order_relaxed;

    /// A frame for which a record is expected or has arrived.
    struct Sent {
        std::uint32_t first_beat;
        Nanoseconds kernel_ns;
    };
    struct Stream {
        bool wanted = true;
        FixedQueue<NanetHost::Full> full{NanetCard::most_buffers};  ///< buffers with records that are not lent yet
        FixedQueue<Sent> sent{NanetCard::most_buffers};
        std::size_t at = 0;           ///< offset of the next record in the first full buffer
        std::uint32_t n_lent = 0;     ///< records lent from that buffer
        std::uint32_t n_done = 0;     ///< buffers to return
        std::uint32_t n_awaited = 0;  ///< records of this round that have not arrived
    };

    void open_lists(const NanetBackendConfig& config);
    void give_back() noexcept;
    bool begin_round() noexcept;
    void run_round() noexcept;
    void step() noexcept;
    void note_begun(std::uint32_t cycle) noexcept;
    void note_full(const NanetHost::Full& full) noexcept;
    void end_round() noexcept;
    void read_counts() noexcept;
    void refuse(std::uint16_t stream, std::uint32_t n_frames) noexcept;
    std::size_t lend(std::span<Datagram> batch) noexcept;
    bool lend_record(std::uint16_t stream, Datagram& datagram) noexcept;
    std::span<const std::byte> next_record(Stream& stream, nanet::RecordHeader& header) noexcept;
    Nanoseconds kernel_stamp(Stream& stream, std::uint32_t first_beat) noexcept;

    NanetCard card_;
    NanetHost& host_ = card_.host();
    Counters<NanetCounter>& counters_ = card_.counters();
    std::uint32_t n_buffers_ = 0, settle_cycles_;
    std::vector<Stream> streams_;
    std::vector<std::atomic<std::uint64_t>> n_refused_;  ///< of each stream; the operator's thread reads them
    std::vector<NanetFrame> round_;
    std::size_t n_round_ = 0, n_begun_ = 0;  ///< frames of this round; those that the card has begun
    std::uint32_t n_awaited_ = 0;            ///< of all streams
    std::uint16_t first_turn_ = 0;
    unsigned n_idle_ = 0;          ///< consecutive rounds without frames
    bool counts_are_old_ = false;  ///< the counters differ from the card's registers
};

}  // namespace anello::receive
