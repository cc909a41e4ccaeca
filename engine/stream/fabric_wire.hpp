// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "stream/ring/ring_layout.hpp"

/// Protocol of a stream over the fabric; docs/reference/stream-layout.md is its specification.
namespace anello::stream {

inline constexpr std::uint64_t fabric_hello_magic = magic_of("ANELFBRC");
inline constexpr std::uint32_t fabric_hello_version = 2;
inline constexpr std::uint64_t key_hello_magic = magic_of("ANELKEYS");
inline constexpr std::uint32_t key_hello_version = 1;
inline constexpr std::uint32_t largest_blob_bytes = 16384;
inline constexpr std::size_t largest_piece_bytes = std::size_t{1} << 20;  ///< in one message or put

/// Sent first if a side has keys, by the connector before the listener, whose proof follows separately.
struct KeyHello {
    std::uint64_t magic = key_hello_magic;
    std::uint32_t version = key_hello_version;
    std::uint32_t reserved = 0;
    std::array<std::uint8_t, 32> public_key{};
    std::array<std::uint8_t, 32> nonce{};
};
static_assert(sizeof(KeyHello) == 80);

/// Followed on the control connection by the fabric's address and the key of the ring (or of a cache line if this side
/// does not receive, since signals without bytes also need a region) and, with keys, by a tag of all this.
struct FabricHello {
    std::uint64_t magic = fabric_hello_magic;
    std::uint32_t version = fabric_hello_version;
    std::uint32_t flags = 0;  ///< 1: this side sends; 2: it receives
    std::uint64_t ring_bytes = 0;
    std::uint64_t farm_id = 0;    ///< chosen by the connector, repeated by the listener
    std::uint32_t transport = 0;  ///< fabric::Transport
    std::uint32_t address_bytes = 0, key_bytes = 0;
    std::uint32_t reserved = 0;
    std::array<std::uint64_t, 2> more{};
};
static_assert(sizeof(FabricHello) == 64);

/// True if magic and lengths are plausible. The version may differ.
constexpr bool well_formed(const FabricHello& hello) noexcept {
    return hello.magic == fabric_hello_magic && hello.address_bytes > 0 && hello.address_bytes <= largest_blob_bytes &&
           hello.key_bytes > 0 && hello.key_bytes <= largest_blob_bytes;
}

/// Follows the bytes, as the signal of a put or the header of a message: which index rose, and its value. Indices have
/// 61 bits, which last 7 years at 10 GB/s.
enum class FabricWord : std::uint8_t {
    head,    ///< the sender's: all bytes before it are in the ring
    tail,    ///< the receiver's: all bytes before it belong to the sender again
    ended,   ///< like head, and it is final
    closed,  ///< the receiver accepts no more bytes
    count
};
struct FabricSignal {
    FabricWord word = FabricWord::head;
    std::uint64_t index = 0;
};
inline constexpr int signal_index_bits = 61;

constexpr std::uint64_t encode(FabricSignal signal) noexcept {
    return static_cast<std::uint64_t>(signal.word) << signal_index_bits | signal.index;
}
/// Nothing if it is not a valid signal.
constexpr std::optional<FabricSignal> decode_signal(std::uint64_t bits) noexcept {
    const std::uint64_t word = bits >> signal_index_bits;
    if (word >= static_cast<std::uint64_t>(FabricWord::count)) return std::nullopt;
    return FabricSignal{static_cast<FabricWord>(word), bits & ((std::uint64_t{1} << signal_index_bits) - 1)};
}

}  // namespace anello::stream
