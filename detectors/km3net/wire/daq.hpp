// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/verdict.hpp"

/// Messages between KM3NeT's data filters and their readers: docs/reference/km3net-messages.md. Little-endian except
/// for the times of hits. Hot path: no allocation, no lock, no log, no throw.
namespace anello::wire::daq {

/// Slices are 1001 to 1005: rejected frames, all hits (L0), and L1, L2 and supernova coincidences.
enum class Type : std::uint32_t {
    frame = 101,
    first_slice = 1001,
    l0_slice = 1002,
    l1_slice = 1003,
    last_slice = 1005,
    summary = 2001,
    event = 10001,
};

inline constexpr std::size_t header_bytes = 30;  ///< of any message
inline constexpr std::size_t frame_header_bytes = 56;
inline constexpr std::size_t hit_bytes = 6;
inline constexpr std::size_t n_channels = 31;

/// The run and its 100 ms slice; stands in each message and again in each frame.
struct Origin {
    std::uint32_t detector = 0, run = 0;
    std::uint32_t frame_index = 0;       ///< slices since the start of the run
    std::uint32_t utc_s = 0, ticks = 0;  ///< start of the slice, ticks of 16 ns
    bool operator==(const Origin&) const = default;
};

struct Header {
    std::uint32_t length_bytes = 0;  ///< of the message
    Type type{};
    std::uint16_t version = 0;
    Origin origin;
};

/// A data queue's report of a DOM's datagrams of a slice, and the board's report of itself.
struct Status {
    std::uint32_t dom_id = 0;
    std::uint16_t n_received = 0, largest_sequence = 0;  ///< 0xffff: not known
    std::array<std::uint32_t, 4> board{};
};

struct Frame {
    Status status;
    std::span<const std::byte> hits;  ///< packed: u8 channel, u32 big-endian time, u8 ToT
};
struct RateFrame {
    Status status;
    std::span<const std::byte> rates;  ///< u8, one for each channel
};

/// The version of messages of this type; 0 for frames, which have none, and for unknown types.
std::uint16_t version_of(Type type) noexcept;
constexpr bool is_slice(Type type) noexcept {
    return type >= Type::first_slice && type <= Type::last_slice;
}
/// Length of the message that begins here; 0 if its type or version is not known.
std::size_t message_bytes(std::span<const std::byte> bytes) noexcept;

/// A message whose frames and lists have the lengths that they announce, and whose hits are on existing channels.
struct MessageView {
    Header header;
    std::span<const std::byte> bytes;  ///< the whole message
    std::uint32_t n_frames = 0;        ///< slice, summary

    // members of an event
    std::uint64_t number = 0, mask = 0;
    std::uint32_t n_overlays = 0;
    std::span<const std::byte> triggered = {}, snapshot = {};  ///< 18 and 10 bytes each: i32 dom_id, then a hit
};
inline constexpr std::size_t triggered_bytes = 18, snapshot_bytes = 10;

Verdict parse(std::span<const std::byte> message, MessageView& view) noexcept;

/// Reads one frame after another of a slice or summary that parse() accepted.
class FrameReader {
  public:
    explicit FrameReader(const MessageView& view) noexcept;
    bool next(Frame& frame) noexcept;
    bool next(RateFrame& frame) noexcept;

  private:
    std::span<const std::byte> rest_;
};

}  // namespace anello::wire::daq
