// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rich/wire/known_sources.hpp"
#include "wire/verdict.hpp"

/// NA62's multi-event packet, readout board to farm: docs/reference/mep.md.
/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::wire::mep {

inline constexpr std::size_t header_bytes = 8;
inline constexpr std::size_t fragment_header_bytes = 8;
inline constexpr std::size_t max_packet_bytes = 65535;
inline constexpr std::uint32_t max_fragments = 255;
inline constexpr std::uint32_t event_number_mask = 0xffffff;
inline constexpr std::uint8_t rich_source_id = 0x1c;

struct Header {
    std::uint32_t first_event_number = 0;  ///< level-0 triggers since the start of the burst, 24 bits
    std::uint8_t source_id = 0;
    std::uint16_t length_bytes = 0;
    std::uint8_t n_fragments = 0;
    std::uint8_t sub_source_id = 0;
};

/// A datagram that passed every check of NA62's farm, including those of its fragments.
struct PacketView {
    Header header;
    std::span<const std::byte> payload;  ///< the fragments
};

struct FragmentView {
    std::uint32_t event_number;
    std::uint32_t timestamp_ticks;
    bool last_of_burst;  ///< this event is the last of its burst
    std::span<const std::byte> payload;
};

/// Checks length, source, each fragment's bounds, the low byte of each event number, and that the fragments end with
/// the packet.
Verdict parse(std::span<const std::byte> datagram, const KnownSources& known, PacketView& packet) noexcept;

/// Reads one fragment after another of a packet that parse() accepted.
class FragmentReader {
  public:
    explicit FragmentReader(const PacketView& packet) noexcept
        : at_(packet.payload.data()), n_left_(packet.header.n_fragments), number_(packet.header.first_event_number) {}
    bool next(FragmentView& fragment) noexcept;

  private:
    const std::byte* at_;
    std::uint32_t n_left_;
    std::uint32_t number_;
};

/// Writes one packet into `datagram`. For each event either add() a payload, or write it into room() and close() it.
class PacketWriter {
  public:
    explicit PacketWriter(std::span<std::byte> datagram, std::uint8_t source_id, std::uint8_t sub_source_id,
                          std::uint32_t first_event_number) noexcept;

    std::span<std::byte> room() const noexcept;  ///< space for the next payload; empty when the packet is full
    /// Returns false if the packet has no room for it, and leaves the packet unchanged.
    bool close(std::size_t payload_bytes, std::uint32_t timestamp_ticks, bool last_of_burst = false) noexcept;
    bool add(std::span<const std::byte> payload, std::uint32_t timestamp_ticks, bool last_of_burst = false) noexcept;
    std::uint32_t n_fragments() const noexcept { return n_fragments_; }
    /// Writes the header; returns the datagram's length.
    std::size_t finish() noexcept;

  private:
    std::span<std::byte> datagram_;
    std::size_t n_bytes_ = header_bytes;
    std::uint32_t n_fragments_ = 0;
    std::uint32_t first_event_number_;
    std::uint8_t source_id_, sub_source_id_;
};

/// Length of the datagram that begins here, according to its header; 0 if there is no such header. Hot path: no
/// allocation, no lock, no log, no throw.
std::size_t datagram_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace anello::wire::mep
