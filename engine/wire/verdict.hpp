// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/counters/counters.hpp"

namespace anello::wire {

/// A parser's result for one datagram. With any value but `ok`, nothing of the datagram is used.
enum class Verdict : std::uint8_t {
    ok,
    too_short,           ///< shorter than the header of its format
    wrong_magic,         ///< does not begin with the magic number of its format
    wrong_version,       ///< a version or format code this parser does not know
    wrong_length,        ///< length field differs from the datagram's length
    wrong_flags,         ///< reserved bits set, or flags that exclude each other
    unknown_source,      ///< source or sub-source that is not configured for this stream
    wrong_checksum,      ///< content differs from its checksum
    event_truncated,     ///< an event's fields reach beyond the datagram
    wrong_event_count,   ///< events found differ from the number announced
    wrong_event_number,  ///< event number breaks the sequence inside the packet
    wrong_hit,           ///< channel, type or frame that cannot be on this board
    too_many_hits,       ///< more hits in one event than the format or configuration allows
    clock_not_valid,     ///< the board reports an invalid clock, so its times have no meaning
    count
};

const char* name_of(Verdict verdict) noexcept;

}  // namespace anello::wire

namespace anello {

template <>
inline constexpr std::array<CounterLabel, 14> counter_labels<wire::Verdict>{{
    {"ok", "datagrams parsed whole", Place::datagrams},
    {"too_short", "datagrams shorter than their format's header", Place::datagrams},
    {"wrong_magic", "datagrams without their format's magic number", Place::datagrams},
    {"wrong_version", "datagrams of an unknown version or format code", Place::datagrams},
    {"wrong_length", "datagrams whose length field differs from their length", Place::datagrams},
    {"wrong_flags", "datagrams with reserved or contradicting flags", Place::datagrams},
    {"unknown_source", "datagrams of a source that this stream does not expect", Place::datagrams},
    {"wrong_checksum", "datagrams whose content differs from their checksum", Place::datagrams},
    {"event_truncated", "datagrams with an event that reaches beyond their end", Place::datagrams},
    {"wrong_event_count", "datagrams with another number of events than announced", Place::datagrams},
    {"wrong_event_number", "datagrams whose event numbers are out of sequence", Place::datagrams},
    {"wrong_hit", "datagrams with a hit that cannot be on this board", Place::datagrams},
    {"too_many_hits", "datagrams with an event of more hits than allowed", Place::datagrams},
    {"clock_not_valid", "datagrams of a board that reports an invalid clock", Place::datagrams},
}};

}  // namespace anello
