// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/verdict.hpp"

/// All formats of packets in one list, for programs that do not know beforehand what they read: `anello dump`, the
/// card, Python. The engine's own are in it from the start; each detector adds its own, from a packet_formats.hpp
/// beside its parsers. Each entry leads to the format's own parser; nothing is parsed a second time here.
namespace anello::wire {

/// One number of a header. `unit` is what it counts in; "hex" for patterns of bits, "verdict" for a Verdict.
struct Field {
    const char* name;
    const char* unit;
    std::uint64_t value;
    bool is_signed = false;
};

struct Column {
    const char* name;
    const char* unit;
    bool is_signed = false;
    std::vector<std::uint64_t> values = {};
};

/// What a packet holds many of: events, hits, primitives. All columns of a table have the same length; a column named
/// `event` is a row of the table before.
struct Table {
    const char* name;
    std::vector<Column> columns;
};

/// What one packet says. Taking memory, it is not for the data path.
struct Contents {
    std::vector<Field> header;  ///< empty where the datagram is too short for one, or another format's
    std::vector<Table> tables;  ///< empty unless the verdict is ok
};

/// What programs ask of a packet of any format.
struct Summary {
    bool has_sequence = false;
    bool says_next = false;  ///< `sequence` is that of the source's next packet: a marker
    std::uint32_t sequence = 0;
    std::uint32_t n_numbers = 1;  ///< that the packet takes from there on; 0: gaps mean nothing
    std::uint32_t series = 0;     ///< in which the sequence counts, from 0 in each; later ones are higher, and wrap
    std::uint32_t source_id = 0;  ///< source, board or module, as the format numbers them
    std::uint32_t n_items = 0;    ///< events, primitives, hits or fragments in it
    std::int64_t sent_ns = 0;     ///< sender's wall clock, 0 = not known
};

struct PacketFormat {
    const char* name;
    const char* title;
    /// Whether it begins as this format does; null: the format has no magic number.
    bool (*has_magic)(std::span<const std::byte> datagram) noexcept;
    /// How long the datagram is that begins here, as its own header says; 0: no such header. With it, datagrams that
    /// were captured as one can be taken apart. Hot path. Null: the format does not say.
    std::size_t (*length_of)(std::span<const std::byte> bytes) noexcept;
    /// Checks the packet whole, checksums included. Hot path: no allocation, no lock, no log, no throw.
    Verdict (*check)(std::span<const std::byte> datagram, Summary& summary) noexcept;
    /// The same verdict, and all that the packet says. A format may look deeper here, and find more that is wrong.
    Verdict (*read)(std::span<const std::byte> datagram, Contents& contents);
    /// False where any bytes at all may be such a packet, so that nothing is recognised as one.
    bool can_be_recognised = true;
};

inline constexpr std::size_t most_packet_formats = 64;

/// A detector's, before anything is received: other threads may read the list, and nothing guards it. A name that is
/// there already is not added again. Throws ConfigError where there is no room.
void add_packet_formats(std::span<const PacketFormat> formats);
std::span<const PacketFormat> packet_formats() noexcept;
/// Null where there is none of this name.
const PacketFormat* find_packet_format(std::string_view name) noexcept;
/// As a user named it. Throws ConfigError, with the names that there are.
const PacketFormat& packet_format_named(const std::string& name);
/// By magic number, else the first format without one whose check is ok; null: none. Hot path.
const PacketFormat* recognise(std::span<const std::byte> datagram) noexcept;
/// How long the datagram is that begins here, by whatever format it has; 0: that does not show. Hot path.
std::size_t any_datagram_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace anello::wire
