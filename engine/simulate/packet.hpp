// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "fabric/fabric.hpp"

namespace anello::simulate {

using Node = fabric::Peer;

/// What goes from one node to another.
struct Packet {
    /// taken: the receiver's answer to message, put and get; read: to a message that was copied, for the sender's
    /// system.
    /// word: of a sender that need not know what becomes of it.
    enum class Kind : std::uint8_t { open, close, alive, message, word, put, get, taken, read };
    /// lost: of all of it only a gap arrives; cut: its begin does; doubled: a second one, of which the sender does not
    /// know. Where the network is not reliable.
    enum class Fate : std::uint8_t { whole, lost, cut, doubled };
    Kind kind = Kind::alive;
    Fate fate = Fate::whole;
    Node from = 0, to = 0;
    std::uint64_t from_link = 0, to_link = 0;  ///< ends of the connection, each named by its own side
    std::uint64_t incarnation = 0;             ///< open: who asks, and whom it means
    std::uint64_t meant_incarnation = 0;
    std::uint8_t header_bytes = 0;
    std::array<std::byte, fabric::max_header_bytes> header{};
    std::span<const std::byte> payload{};  ///< the sender's memory, or `copy`; as much of it as is carried
    std::size_t length_bytes = 0;          ///< of the whole payload, which takes its time
    std::vector<std::byte> copy{};
    bool is_void = false;  ///< its sender gave it up: the payload may not be read any more
    std::uint64_t token = 0, number = 0, signal = 0;
    std::uint32_t region = 0;
    std::size_t offset = 0;
    std::span<std::byte> destination{};  ///< get: the sender's memory
    std::span<std::byte> place{};        ///< message: the receiver's
    fabric::Status status = fabric::Status::ok;
    double weight = 1;                     ///< bytes on the wire that one of the payload stands for
    bool is_begun = false;                 ///< its receiver knows of it
    Nanoseconds sent_ns = 0, left_ns = 0;  ///< given to the card, gone from it

    std::size_t charged_bytes() const noexcept {
        return static_cast<std::size_t>(static_cast<double>(length_bytes) * weight);
    }
};
using PacketPointer = std::shared_ptr<Packet>;

/// PERF NOTE: as make_shared(), with memory that was used before: a farm of 500 nodes makes millions of them a second.
PacketPointer new_packet();

}  // namespace anello::simulate
