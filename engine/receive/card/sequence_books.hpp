// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/counters/counters.hpp"
#include "receive/card/card_counters.hpp"
#include "receive/datagrams/source_address.hpp"
#include "receive/numbers/sequence_tracker.hpp"
#include "wire/packet_format.hpp"

namespace anello::receive {

/// What the sequence numbers of one source's packets show. A source is a sender's address together with its source,
/// board or module number, so a sender that uses another's number is a source of its own.
struct SequencedSource {
    SourceAddress address;
    std::uint32_t source_id = 0;
    std::uint64_t n_packets = 0, n_late = 0, n_duplicates = 0, n_strays = 0, n_restarts = 0;
    std::uint64_t n_lost = 0;  ///< numbers that were passed over and have not arrived
};

/// Tracks the sequence numbers of a format's packets, separately for each source, and counts gaps, late packets and
/// duplicates. Packets that a source sent before its first packet here are not lost. One thread calls all members.
class SequenceBooks {
  public:
    /// Tracks the first max_sources sources (1 to 4096; 2.3 kB each) and only counts further ones, because any sender
    /// can invent sources. Throws ConfigError.
    SequenceBooks(std::size_t max_sources, Counters<CardCounter> counters);

    /// Hot path: no allocation, no lock, no log, no throw. For packets with the verdict ok.
    void take(const wire::Summary& packet, SourceAddress address) noexcept;
    /// In the order of their first packets; valid until the next call of take().
    std::span<const SequencedSource> sources() const noexcept { return public_; }

  private:
    struct Followed {
        SequenceTracker tracker{};
        std::uint32_t series = 0, n_of_older_series = 0;
    };
    static constexpr std::uint16_t none = 0xffff;
    static constexpr std::uint32_t confirm_series = 16;

    std::size_t index_of(SourceAddress address, std::uint32_t source_id) noexcept;
    static bool is_of_series(Followed& source, std::uint32_t series) noexcept;
    static Arrival follow(Followed& source, const wire::Summary& packet) noexcept;
    void count(SequencedSource& source, Arrival arrival) noexcept;
    void show_lost(std::size_t index) noexcept;

    const std::size_t max_sources_;
    Counters<CardCounter> counters_;
    std::vector<Followed> followed_;       ///< allocated for all sources at the start
    std::vector<SequencedSource> public_;  ///< the public part, by the same index
    std::vector<std::uint16_t> places_;    ///< hash table of the sources' indices
};

}  // namespace anello::receive
