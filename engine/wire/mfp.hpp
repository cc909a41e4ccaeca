// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"
#include "wire/verdict.hpp"

/// MFP: multi-fragment packet, one source's fragments of many consecutive events. Little-endian. Specified byte by byte
/// in docs/reference/mfp.md.
///
///   header, 48 bytes
///     0  u32 magic "MFP1"              16  u32 length_bytes (all)
///     4  u8  version = 1               20  u32 crc32c of the header, with this field as 0, and of both tables
///     5  u8  flags                     24  u64 first_event: fragment i belongs to event first_event + i
///     6  u8  alignment_log2, 0..12     32  i64 ready_ns: wall clock, when the packet was whole; 0 = not known
///     7  u8  reserved = 0              40  u64 reserved = 0
///     8  u16 source_id
///    10  u16 n_fragments, at least 1
///    12  u32 run_id
///   then u16 size[n_fragments], padded with 0 to 4 bytes (u32 size[n_fragments] with the flag long_fragments);
///   u32 crc32c[n_fragments], one per fragment (all 0 with the flag without_checksums); then the fragments, each at a
///   multiple of the alignment.
namespace anello::wire::mfp {

inline constexpr std::uint32_t magic = 0x3150464d;  // "MFP1" as it stands on the wire
inline constexpr std::uint8_t version = 1;
inline constexpr std::size_t header_bytes = 48;
inline constexpr std::uint8_t max_alignment_log2 = 12;

enum Flag : std::uint8_t {
    without_checksums = 1,  ///< fragments have no checksum; the header always has one
    long_fragments = 2,     ///< sizes have 32 bits
    known_flags = 3,
};

struct Header {
    std::uint8_t flags = 0;
    std::uint8_t alignment_log2 = 3;
    std::uint16_t source_id = 0;
    std::uint16_t n_fragments = 0;
    std::uint32_t run_id = 0;
    std::uint32_t length_bytes = 0;
    std::uint32_t checksum = 0;
    std::uint64_t first_event = 0;
    std::int64_t ready_ns = 0;

    bool has_checksums() const noexcept { return (flags & without_checksums) == 0; }
    bool has_long_fragments() const noexcept { return (flags & long_fragments) != 0; }
    bool operator==(const Header&) const = default;
};

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
    return (bytes + unit - 1) / unit * unit;
}
constexpr std::size_t checksums_offset(std::size_t n_fragments, std::uint8_t flags = 0) noexcept {
    return header_bytes + ((flags & long_fragments) != 0 ? 4 * n_fragments : round_up(2 * n_fragments, 4));
}
/// Size of header and tables, without the padding before the first fragment.
constexpr std::size_t tables_end(std::size_t n_fragments, std::uint8_t flags = 0) noexcept {
    return checksums_offset(n_fragments, flags) + 4 * n_fragments;
}
/// Upper bound of a packet's size, given the number and the largest size of its fragments.
constexpr std::size_t max_packet_bytes(std::size_t n_fragments, std::size_t max_fragment_bytes,
                                       std::uint8_t alignment_log2, std::uint8_t flags = 0) noexcept {
    const std::size_t unit = std::size_t{1} << alignment_log2;
    return round_up(tables_end(n_fragments, flags), unit) + n_fragments * round_up(max_fragment_bytes, unit);
}

/// A packet whose header, tables and length are right. The fragments are not yet verified.
struct PacketView {
    Header header;
    std::span<const std::byte> bytes;  ///< the whole packet

    std::size_t size_of(std::size_t fragment) const noexcept {
        const std::byte* sizes = bytes.data() + header_bytes;
        return header.has_long_fragments() ? load_le<std::uint32_t>(sizes + 4 * fragment)
                                           : load_le<std::uint16_t>(sizes + 2 * fragment);
    }
    std::uint32_t checksum_of(std::size_t fragment) const noexcept {
        return load_le<std::uint32_t>(bytes.data() + checksums_offset(header.n_fragments, header.flags) + 4 * fragment);
    }
};

/// Reads the header and checks everything in it, and the packet's length. It does not verify the checksum, which also
/// covers the tables.
Verdict parse_header(std::span<const std::byte> packet, Header& header) noexcept;
/// Hot path: no allocation, no lock, no log, no throw. Reads the header and the tables, never the fragments.
Verdict parse(std::span<const std::byte> packet, PacketView& view) noexcept;

/// Reads one fragment after another of a packet that parse() accepted, starting at any of them.
class FragmentReader {
  public:
    explicit FragmentReader(const PacketView& view, std::size_t first = 0) noexcept;
    bool next(std::span<const std::byte>& fragment) noexcept;
    /// Verifies the fragment that next() returned last: ok or wrong_checksum. Fragments without a checksum are ok.
    Verdict verify() const noexcept;

  private:
    const PacketView* view_;
    std::size_t index_, offset_;
    std::span<const std::byte> fragment_;
};

/// Writes a packet in place, fragment by fragment. `packet` must have max_packet_bytes() bytes.
class Writer {
  public:
    Writer(std::span<std::byte> packet, const Header& header) noexcept;

    /// Returns the space for the next fragment. It is empty if all n_fragments are written, no room is left, or the
    /// size needs the flag long_fragments.
    std::span<std::byte> add(std::uint32_t size_bytes) noexcept;
    /// Completes the packet: computes the checksums of the fragments, unless flagged without, and writes the header.
    /// Returns the packet's length, or 0 if fragments are missing.
    std::size_t finish() noexcept;
    /// The same, with the time at which the packet was complete.
    std::size_t finish(std::int64_t ready_ns) noexcept {
        header_.ready_ns = ready_ns;
        return finish();
    }

  private:
    std::span<std::byte> packet_;
    Header header_;
    std::size_t index_ = 0, end_;
};

/// Gives a finished packet another header without reading its content again, for sources that prepare their packets.
class Restamp {
  public:
    /// `packet` must be finished. All packets restamped by this object must have this many fragments and these flags.
    explicit Restamp(std::uint16_t n_fragments, std::uint8_t flags = 0) noexcept;
    /// The tables' part of the header's checksum; the caller stores it with the packet.
    static std::uint32_t tables_checksum(std::span<const std::byte> packet) noexcept;
    // Hot path: no allocation, no lock, no log, no throw.
    void operator()(std::span<std::byte> packet, std::uint64_t first_event, std::int64_t ready_ns,
                    std::uint32_t tables_checksum) const noexcept;

  private:
    Crc32cJoin join_;
};

}  // namespace anello::wire::mfp
