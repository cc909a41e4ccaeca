// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The memory that two processes share, as specified in docs/reference/stream-layout.md.
namespace anello::stream {

/// Eight characters as a little-endian word.
constexpr std::uint64_t magic_of(const char (&text)[9]) noexcept {
    std::uint64_t word = 0;
    for (int i = 7; i >= 0; --i) word = word << 8 | static_cast<unsigned char>(text[i]);
    return word;
}

inline constexpr std::uint64_t ring_magic = magic_of("ANELRING");
inline constexpr std::uint32_t ring_version = 1;

/// The page after the ring's bytes. Each word has one writer, except for the two *_waits, which one side sets and the
/// other clears. Head and tail count bytes since the start and only rise; the byte of index i is at i mod size_bytes.
struct RingHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t reserved;
    std::uint64_t size_bytes;
    // Written by the sender.
    alignas(64) std::atomic<std::uint64_t> head;  ///< all bytes before it are available
    std::atomic<std::uint32_t> sender_ended;      ///< 1: head is final
    // Written by the receiver.
    alignas(64) std::atomic<std::uint64_t> tail;  ///< all bytes before it belong to the sender again
    // Requests of the receiver.
    alignas(64) std::atomic<std::uint32_t> receiver_waits;  ///< 1: ring the data bell when head rises
    std::atomic<std::uint32_t> receiver_closed;             ///< 1: no more data is accepted
    // Requests of the sender.
    alignas(64) std::atomic<std::uint32_t> sender_waits;  ///< 1: ring the space bell when space_wanted bytes are free
    std::atomic<std::uint64_t> space_wanted;
};

static_assert(offsetof(RingHeader, size_bytes) == 16 && offsetof(RingHeader, head) == 64 &&
              offsetof(RingHeader, sender_ended) == 72 && offsetof(RingHeader, tail) == 128 &&
              offsetof(RingHeader, receiver_waits) == 192 && offsetof(RingHeader, receiver_closed) == 196 &&
              offsetof(RingHeader, sender_waits) == 256 && offsetof(RingHeader, space_wanted) == 264);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

/// A message is its length, its payload, and padding to the next multiple of 8.
inline constexpr std::size_t message_header_bytes = 8;

constexpr std::size_t padded_bytes(std::size_t n_bytes) noexcept {
    return (n_bytes + 7) & ~std::size_t{7};
}
/// The largest message in a ring; a message of n bytes takes message_header_bytes + padded_bytes(n).
constexpr std::size_t largest_message_bytes(std::size_t ring_bytes) noexcept {
    return ring_bytes - message_header_bytes;
}

}  // namespace anello::stream
