// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "receive/fragment_writer.hpp"
#include "wire/verdict.hpp"

namespace anello::receive {

enum class Format : std::uint8_t { mgp, mep, clb };
Format parse_format(const std::string& text);  ///< Throws ConfigError.
const char* name_of(Format format) noexcept;

enum class PacketKind : std::uint8_t { data, start_of_burst, end_of_burst };

/// What a source has sent since the start of its run.
struct AnnouncedTotals {
    std::uint64_t n_packets = 0, n_fragments = 0, n_hits = 0;
};

/// What the headers of one valid datagram say, in the words of no particular format.
struct PacketInfo {
    PacketKind kind = PacketKind::data;
    bool has_sequence = false;
    bool has_burst_id = false;
    bool ends_burst = false;          ///< a data packet that carries the last event of its burst
    std::uint32_t sequence = 0;       ///< of a burst marker: that of the next data packet
    std::uint32_t sequence_step = 1;  ///< how many sequence numbers this packet takes
    std::uint32_t burst_id = 0;
    std::uint32_t n_events = 0;
    Nanoseconds sent_ns = 0;
    AnnouncedTotals totals;  ///< burst markers only
};

/// The decompressor of one stream: from a datagram of one format to fragments with detector-wide hit numbers.
class Unpacker {
  public:
    Unpacker() = default;
    Unpacker(const Unpacker&) = delete;
    Unpacker& operator=(const Unpacker&) = delete;
    virtual ~Unpacker() = default;

    /// Hot path: no allocation, no lock, no log, no throw. Begins a packet in `writer` and writes its fragments; the
    /// caller commits. On any verdict but ok, and when writer.overflowed(), the caller must not commit.
    /// Unpacking the same datagram again gives the same.
    virtual wire::Verdict unpack(std::span<const std::byte> datagram, FragmentWriter& writer,
                                 PacketInfo& packet) noexcept = 0;
};

/// Which source a stream carries, and where its hits lie in the detector.
struct UnpackerConfig {
    Format format = Format::mgp;
    std::uint32_t source_id = 0;  ///< mgp: source_id; mep: sourceID; clb: DOM id, 0 = any
    std::uint16_t board = 0;      ///< mgp: 0..3; mep: sourceSubID, 0..3 for PMTs, 4 the supercells; clb: not used
};

/// mgp: hit id = board * 488 + channel, channels from 488 on are wrong_hit. The sequence counts packets.
/// mep: TEL62 readout channel -> PMT, hits on a channel without a PMT are wrong_hit, trailing edges are left out;
///      special triggers and the supercells' board yield fragments without hits. Fragments tell the tick alone: their
///      fine time is 0, hit times count from the tick's begin, and the trigger finds the event's time among them. The
///      packet's sequence is its first event number and counts events from 0 in each burst; there is no burst number,
///      so the receiver counts bursts. Not detectable: what a board sent after the last event that arrived, when its
///      end of burst was lost, and a burst of fewer than SequenceTracker::window events that begins without its
///      predecessor's end (duplicates).
/// clb: one fragment per datagram, hit id = channel, burst = the second, time = begin of the time slice; hit times
///      (up to 0.1 s) do not fit their column and read 0. Nothing in it tells a lost datagram.
std::unique_ptr<Unpacker> make_unpacker(const UnpackerConfig& config);  ///< Throws ConfigError.

}  // namespace anello::receive
