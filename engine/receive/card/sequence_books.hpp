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

/// What the numbers of one source's packets say. A source is an address that sends in the name of a source, board or
/// module: who sends in another's name is a source of its own.
struct SequencedSource {
    SourceAddress address;
    std::uint32_t source_id = 0;
    std::uint64_t n_packets = 0, n_late = 0, n_duplicates = 0, n_strays = 0, n_restarts = 0;
    std::uint64_t n_lost = 0;  ///< numbers passed over and not seen until now
};

/// Follows the packets of a format by their numbers, each source by itself, and counts gaps, late and double ones.
/// Joins sources that are on their way: what they sent before is not lost. One thread calls all members.
class SequenceBooks {
  public:
    /// Sources beyond the first max_sources (1 to 4096; 2.3 kB each) are counted only: anybody can send in any name.
    /// Throws ConfigError.
    SequenceBooks(std::size_t max_sources, Counters<CardCounter> counters);

    /// Hot path: no allocation, no lock, no log, no throw. Of a packet whose verdict is ok.
    void take(const wire::Summary& packet, SourceAddress address) noexcept;
    /// In the order in which they were first seen; valid until the next call of take().
    std::span<const SequencedSource> sources() const noexcept { return told_; }

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
    std::vector<Followed> followed_;     ///< room for all from the start
    std::vector<SequencedSource> told_;  ///< beside them
    std::vector<std::uint16_t> places_;  ///< index of a source, by its hash and on from there; none: free
};

}  // namespace anello::receive
