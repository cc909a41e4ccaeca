// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/verdict.hpp"

/// All packet formats in one list, for programs that do not know the format beforehand: `anello dump`, the card,
/// Python. It starts with the engine's own formats; each detector adds its formats from the packet_formats.hpp next to
/// its parsers. Each entry calls the format's own parser, so nothing is parsed by a second implementation.
namespace anello::wire {

/// One number of a header. `unit` is its unit; "hex" for bit patterns, "verdict" for a Verdict.
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

/// The repeated items of a packet: events, hits, primitives. All columns of a table have the same length; a column
/// named `event` holds row numbers of the previous table.
struct Table {
    const char* name;
    std::vector<Column> columns;
};

/// The content of one packet. It allocates memory, so it is not for the data path.
struct Contents {
    std::vector<Field> header;  ///< empty if the datagram is too short, or of another format
    std::vector<Table> tables;  ///< empty unless the verdict is ok
};

/// What programs need to know of a packet of any format.
struct Summary {
    bool has_sequence = false;
    bool says_next = false;  ///< `sequence` is that of the source's next packet, as in a marker
    std::uint32_t sequence = 0;
    std::uint32_t n_numbers = 1;  ///< numbers that the packet takes from `sequence` on; 0: gaps have no meaning
    std::uint32_t series = 0;     ///< each series restarts `sequence` at 0; later series are higher, and wrap
    std::uint32_t source_id = 0;  ///< source, board or module, in the format's numbering
    std::uint32_t n_items = 0;    ///< events, primitives, hits or fragments in the packet
    std::int64_t sent_ns = 0;     ///< sender's wall clock, 0 = not known
};

struct PacketFormat {
    const char* name;
    const char* title;
    /// True if the datagram begins with the format's magic number; null: the format has none.
    bool (*has_magic)(std::span<const std::byte> datagram) noexcept;
    /// Length of the datagram that begins here, according to its header; 0 if there is no such header. It allows to
    /// split datagrams that were captured as one. Hot path. Null: the header has no length.
    std::size_t (*length_of)(std::span<const std::byte> bytes) noexcept;
    /// Checks the whole packet, checksums included. Hot path: no allocation, no lock, no log, no throw.
    Verdict (*check)(std::span<const std::byte> datagram, Summary& summary) noexcept;
    /// Same verdict, and the whole content. A format may check more here than in check() and find further errors.
    Verdict (*read)(std::span<const std::byte> datagram, Contents& contents);
    /// False if any bytes can be a valid packet, so that a packet cannot be recognised.
    bool can_be_recognised = true;
};

inline constexpr std::size_t most_packet_formats = 64;

/// Adds a detector's formats. Call it before anything is received, because other threads read the list without a lock.
/// Names already in the list are skipped. Throws ConfigError if the list is full.
void add_packet_formats(std::span<const PacketFormat> formats);
std::span<const PacketFormat> packet_formats() noexcept;
/// Null if there is no format of this name.
const PacketFormat* find_packet_format(std::string_view name) noexcept;
/// The format that a user named. Throws ConfigError that lists the known names.
const PacketFormat& packet_format_named(const std::string& name);
/// Recognises a format by its magic number, else takes the first format without one whose check is ok; null: none. Hot
/// path.
const PacketFormat* recognise(std::span<const std::byte> datagram) noexcept;
/// Length of the datagram that begins here, in any format; 0 if unknown. Hot path.
std::size_t any_datagram_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace anello::wire
