// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rich/wire/known_sources.hpp"
#include "wire/bytes.hpp"
#include "wire/verdict.hpp"

/// NA62's level-0 primitive packet in its 32-bit format: docs/reference/mtp.md. A source sends one packet for each
/// frame of 256 ticks (6.4 us), even without primitives.
/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::wire::mtp {

inline constexpr std::size_t header_bytes = 8;
inline constexpr std::size_t word_bytes = 4;
inline constexpr std::uint32_t max_primitives = 255;
inline constexpr std::size_t max_packet_bytes = 1472;
inline constexpr std::size_t full_packet_bytes = header_bytes + max_primitives * word_bytes;
inline constexpr std::uint32_t frame_ticks = 256;
inline constexpr std::uint16_t calibration_bit = 0x8000;
/// Smaller ids have a high byte of 0, which marks a timestamp word.
inline constexpr std::uint16_t smallest_primitive_id = 0x100;

struct Primitive {
    std::uint16_t id;
    std::uint8_t fine_time;
    std::uint32_t timestamp_ticks;
    bool operator==(const Primitive&) const = default;
};

struct Header {
    std::uint8_t source_id = 0;
    std::uint8_t sub_source_id = 0;
    std::uint32_t frame = 0;  ///< timestamp / 256, 24 bits
    std::uint8_t n_primitives = 0;
    std::uint16_t length_bytes = 0;
};

/// A datagram that passed every check, including those of its primitives.
struct PacketView {
    Header header;
    std::span<const std::byte> words;
};

/// wrong_event_count: the number of primitives differs from the header's. wrong_event_number: a timestamp word outside
/// the frame, or primitives out of time order.
Verdict parse(std::span<const std::byte> datagram, const KnownSources& known, PacketView& packet) noexcept;

constexpr bool is_timestamp(std::uint32_t word) noexcept {
    return word >> 24 == 0;
}

/// Reads one primitive after another of a packet that parse() accepted.
class PrimitiveReader {
  public:
    explicit PrimitiveReader(const PacketView& packet) noexcept
        : rest_(packet.words), first_tick_(packet.header.frame * frame_ticks) {}
    bool next(Primitive& primitive) noexcept {
        for (; !rest_.empty(); rest_ = rest_.subspan(word_bytes)) {
            const auto word = load_le<std::uint32_t>(rest_.data());
            if (is_timestamp(word)) continue;  // it repeats the frame, as parse() has checked
            primitive = {static_cast<std::uint16_t>(word >> 16), static_cast<std::uint8_t>(word),
                         first_tick_ + ((word >> 8) & 0xff)};
            rest_ = rest_.subspan(word_bytes);
            return true;
        }
        return false;
    }

  private:
    std::span<const std::byte> rest_;
    std::uint32_t first_tick_;
};

enum class AddResult : std::uint8_t {
    ok,
    full,          ///< the packet holds 255 primitives: the caller must count this one as lost
    wrong_frame,   ///< its timestamp is not in this packet's frame
    out_of_order,  ///< earlier than the previous primitive
    wrong_id,      ///< an id below smallest_primitive_id cannot be sent
};

/// Builds the packet of one frame; begin() again for the next.
class PacketWriter {
  public:
    /// `datagram` must hold full_packet_bytes and outlive the writer.
    PacketWriter(std::span<std::byte> datagram, std::uint8_t source_id, std::uint8_t sub_source_id) noexcept;

    void begin(std::uint32_t frame) noexcept;
    AddResult add(const Primitive& primitive) noexcept;
    /// Writes the header and returns the datagram's length, 8 bytes without primitives. With fill_words the writer adds
    /// timestamp words that repeat the frame until the number of words is a multiple of it (at least one, at most 255
    /// words).
    std::size_t finish(std::uint32_t fill_words = 0) noexcept;
    std::uint32_t frame() const noexcept { return frame_; }
    std::uint32_t n_primitives() const noexcept { return n_primitives_; }

  private:
    std::span<std::byte> datagram_;
    std::uint32_t frame_ = 0;
    std::uint32_t n_primitives_ = 0;
    std::uint32_t last_time_fine_ = 0;  ///< 1/256 tick since the start of the frame
    std::uint8_t source_id_, sub_source_id_;
};

}  // namespace anello::wire::mtp
