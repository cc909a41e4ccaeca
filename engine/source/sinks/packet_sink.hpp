// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/clock.hpp"
#include "core/words.hpp"

namespace anello::source {

/// none: datagrams are sent one by one. gso: consecutive datagrams to one destination (boards may share a port) with
/// equal length, of which the last may be shorter, are given to the kernel as one; the kernel cuts them apart. MGP
/// packets filled to the MTU differ in length by a few bytes, so such groups are short; fragments of waveforms have
/// equal length.
enum class Offload : std::uint8_t { none, gso };

/// Destination of a board's stream.
struct BoardEndpoint {
    std::uint16_t board = 0;  ///< also the source id on the wire
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
};

struct OutgoingDatagram {
    std::span<const std::byte> bytes;
    std::uint32_t stream;       ///< index into the endpoints
    std::uint32_t n_fragments;  ///< counted with the datagram if it is refused
    std::uint32_t epoch = 0;
    std::uint64_t first_number = 0;  ///< its numbers in the board's sequence
    std::uint32_t n_numbers = 0;     ///< 0: a marker
};

enum class SendResult : std::uint8_t { sent, refused, no_buffers, failed };

/// Takes datagrams to the network, to a file, or to a test. One thread calls it.
class PacketSink {
  public:
    virtual ~PacketSink() = default;
    /// Hot path: no allocation, no lock, no log, no throw. Sends at most max_batch datagrams, and fills one result for
    /// each. `now_ns`: wall clock of this batch.
    virtual void send(std::span<const OutgoingDatagram> datagrams, Nanoseconds now_ns,
                      SendResult* results) noexcept = 0;

    static constexpr std::uint32_t max_batch = 1024;  ///< the kernel's limit for one sendmmsg
};

}  // namespace anello::source

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<source::Offload>{"none", "gso"};

}  // namespace anello
