// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "receive/boards/fragment_writer.hpp"
#include "wire/verdict.hpp"

namespace anello::receive {

enum class PacketKind : std::uint8_t { data, start_of_burst, end_of_burst };

/// Totals that a source has sent since the start of its run.
struct AnnouncedTotals {
    std::uint64_t n_packets = 0, n_fragments = 0, n_hits = 0;
};

/// Header fields of one valid datagram, independent of its format.
struct PacketInfo {
    PacketKind kind = PacketKind::data;
    bool has_sequence = false;
    bool has_burst_id = false;
    bool ends_burst = false;          ///< a data packet with the last event of its burst
    std::uint32_t sequence = 0;       ///< in a burst marker: the number of the next data packet
    std::uint32_t sequence_step = 1;  ///< how many sequence numbers this packet takes
    std::uint32_t burst_id = 0;
    std::uint32_t n_events = 0;
    Nanoseconds sent_ns = 0;
    AnnouncedTotals totals;  ///< in burst markers only
};

/// Unpacks the datagrams of one stream, which have one format, into fragments with detector-wide hit numbers.
class Unpacker {
  public:
    Unpacker() = default;
    Unpacker(const Unpacker&) = delete;
    Unpacker& operator=(const Unpacker&) = delete;
    virtual ~Unpacker() = default;

    /// Hot path: no allocation, no lock, no log, no throw. Begins a packet in `writer` and writes its fragments; the
    /// caller commits. With any verdict but ok, or writer.overflowed(), the caller must not commit. Unpacking the same
    /// datagram again must give the same result.
    virtual wire::Verdict unpack(std::span<const std::byte> datagram, FragmentWriter& writer,
                                 PacketInfo& packet) noexcept = 0;
};

/// Makes the unpacker of one board. The engine or the detector has one for each format.
using UnpackerMaker = std::function<std::unique_ptr<Unpacker>()>;

}  // namespace anello::receive
