// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/crc32c.hpp"
#include "wire/verdict.hpp"

/// Camera fragments: one board's part of one event, or a marker, in one datagram. Little-endian, packed.
/// docs/reference/camera.md specifies every byte; hardware produces the same.
///
///   header, 64 bytes
///     0  u32 magic "CAM1"             24  u64 timestamp_ns of the trigger (TAI or UNIX, depending on the site)
///     4  u8  version = 1              32  u16 n_samples per pixel and gain
///     5  u8  flags                    34  u8  n_pixels of this board
///     6  u16 board                    35  u8  n_gains
///     8  u32 run_id                   36  u8  counters_kind: what the last 24 bytes hold
///    12  u32 event_number, wraps      37  u8  trigger_tag
///    16  u32 sequence: counts this    38  u16 payload_bytes
///        board's data fragments       40  u8[24] the board's own counters, as its maker writes them
///        since the start of the run,
///        wraps
///    20  u32 crc32c of the whole datagram with this field as 0 (0 when not flagged)
///   then payload_bytes of waveforms: u16 samples [gain][pixel][sample], or, when n_samples is 0, bytes without shape;
///   of counters_kind dragon_drs4, waveforms of 7 pixels and then the first cells of 8 chips, u16 each
///   with the flag gain_selected one of two gains was sent, and the last two counters say of which pixels the low one
///   start-of-run and end-of-run markers carry the board's totals (24 bytes) instead, always with a checksum, and do
///   not count in `sequence`, which is that of the next data fragment. They are repeated.
namespace anello::wire::camera {

inline constexpr std::uint32_t magic = 0x314d4143;  // "CAM1" as it stands on the wire
inline constexpr std::uint8_t version = 1;
inline constexpr std::size_t header_bytes = 64;
inline constexpr std::size_t totals_bytes = 24;
inline constexpr std::size_t counters_bytes = 24;
inline constexpr std::size_t max_payload_bytes = 8972 - header_bytes;  ///< a jumbo frame of 9000 bytes

enum Flag : std::uint8_t {
    with_checksum = 1,
    start_of_run = 2,
    end_of_run = 4,
    gain_selected = 64,
    known_flags = 7 | gain_selected,
};

/// Bits of the causes of a camera's trigger; 0: not known. The values are those of the observatory's trigger interface
/// board (its mask) and time stamping board (its type).
enum TriggerTag : std::uint8_t {
    tag_mono = 1,         ///< this telescope alone
    tag_stereo = 2,       ///< with a neighbour
    tag_calibration = 4,  ///< a flash of the flat field
    tag_single_pe = 8,    ///< light of single photo-electrons
    tag_software = 16,
    tag_pedestal = 32,
    tag_slow_control = 64,
    known_tags = 127,
};

/// Pixels of a board with 8 DRS4 chips. In each gain a chip samples two of the 7 pixels, the last chip only one.
inline constexpr std::uint8_t drs4_pixels = 7;
inline constexpr std::uint16_t drs4_cells = 4096;  ///< of a pixel's ring: four channels of 1024 cells
inline constexpr std::size_t drs4_chips = 8;
inline constexpr std::size_t first_cells_bytes = 2 * drs4_chips;
/// For each chip (0 to 3 high gain, 4 to 7 low gain) the cell of the first sample, below drs4_cells.
using FirstCells = std::array<std::uint16_t, drs4_chips>;

/// Number (0 to 7) of the chip that samples a pixel in a gain.
constexpr std::size_t drs4_chip(std::size_t gain, std::size_t pixel) noexcept {
    return 4 * gain + pixel / 2;
}

/// Largest payload of any kind of counters in addition to the waveforms of n_pixels.
constexpr std::size_t first_cells_room(std::size_t n_pixels) noexcept {
    return n_pixels == drs4_pixels ? first_cells_bytes : 0;
}

/// Most pixels of a board that sends one selected gain of each: the number of bits in the last two bytes of its
/// counters.
inline constexpr std::uint8_t most_selected_pixels = 16;
inline constexpr std::size_t low_gain_offset = 62;  ///< in the header

/// The board's own counters, which the event builder forwards unchanged.
enum class CountersKind : std::uint8_t {
    none,
    dragon,        ///< LST, 22 B: pps u16, 10 MHz u32, event u32, trigger u32, local clock u64 (133 MHz)
    nectarcam_16,  ///< NectarCAM, 16 B: absolute event u32, event u16, pps u16, ts1 u32, 4 x u8
    nectarcam_20,  ///< the same plus 4 bytes of trigger pattern
    dragon_drs4,   ///< LST, like dragon; the first cells of the board's DRS4 chips follow the waveforms
    count
};

struct Header {
    std::uint8_t flags = 0;
    std::uint16_t board = 0;
    std::uint32_t run_id = 0;
    std::uint32_t event_number = 0;
    std::uint32_t sequence = 0;
    std::uint32_t checksum = 0;
    std::uint64_t timestamp_ns = 0;
    std::uint16_t n_samples = 0;
    std::uint8_t n_pixels = 0;
    std::uint8_t n_gains = 0;
    CountersKind counters_kind = CountersKind::none;
    std::uint8_t trigger_tag = 0;  ///< bits of TriggerTag
    std::uint16_t payload_bytes = 0;
    std::array<std::byte, counters_bytes> counters{};

    bool is_marker() const noexcept { return (flags & (start_of_run | end_of_run)) != 0; }
    /// One bit for each pixel whose low gain was sent, starting with the lowest; valid with gain_selected only.
    std::uint16_t low_gain() const noexcept;
    bool has_first_cells() const noexcept { return counters_kind == CountersKind::dragon_drs4 && !is_marker(); }
    /// Bytes of the payload without first cells. Valid after parse() returned ok.
    std::size_t waveform_bytes() const noexcept { return payload_bytes - (has_first_cells() ? first_cells_bytes : 0); }
    bool operator==(const Header&) const = default;
};

/// A board's totals since the start of the run, sent in markers.
struct Totals {
    std::uint64_t n_fragments = 0;  ///< data fragments, without markers
    std::uint64_t n_bytes = 0;      ///< their UDP payload
    std::uint32_t first_event = 0;  ///< number of the run's first event
    std::uint32_t next_event = 0;   ///< number after the last event
    bool operator==(const Totals&) const = default;
};

/// Index of the port to which a board sends, of n_ports: contiguous ranges of boards of nearly equal size. Source and
/// receiver use the same.
constexpr std::uint32_t port_index(std::uint32_t board, std::uint32_t n_boards, std::uint32_t n_ports) noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{board} * n_ports / n_boards);
}

/// Hot path: no allocation, no lock, no log, no throw.
/// Checks everything except the checksum: magic, version, flags, length against the datagram, shape against
/// payload_bytes (n_samples 0, or n_pixels * n_gains * n_samples * 2 and the first cells == payload_bytes),
/// counters_kind, trigger_tag, first cells, and selected gains. Without the checksum flag the checksum must be 0, so
/// that a flag lost in transfer does not switch the check off.
Verdict parse(std::span<const std::byte> datagram, Header& header) noexcept;
/// Verifies the checksum: ok or wrong_checksum. Datagrams without the flag are ok. Call it after parse() returned ok.
Verdict verify(std::span<const std::byte> datagram, const Header& header) noexcept;
/// Reads the first cells at the payload's end, for a fragment with has_first_cells() that parse() accepted.
FirstCells read_first_cells(std::span<const std::byte> payload) noexcept;
/// Writes the first cells at the payload's end; call it before seal().
void write_first_cells(std::span<std::byte> payload, const FirstCells& cells) noexcept;
/// Only for a marker that parse() accepted.
Totals parse_totals(std::span<const std::byte> datagram) noexcept;

/// Writes the header in front of the header.payload_bytes that are already there and, if flagged, the checksum. Returns
/// the datagram's length.
std::size_t seal(std::span<std::byte> datagram, const Header& header) noexcept;
/// The same for a payload with a known checksum, without reading it. `join` must be made for its length.
std::size_t seal(std::span<std::byte> datagram, const Header& header, std::uint32_t payload_crc,
                 const Crc32cJoin& join) noexcept;
/// Writes a whole marker (start or end by header.flags), without shape or tag, with a checksum. Returns its length.
std::size_t write_marker(std::span<std::byte> datagram, Header header, const Totals& totals) noexcept;

/// Length of the datagram that begins here, according to its header; 0 if there is no such header. Hot path: no
/// allocation, no lock, no log, no throw.
std::size_t datagram_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace anello::wire::camera
