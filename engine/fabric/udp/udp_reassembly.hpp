// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "fabric/fabric_counters.hpp"
#include "fabric/udp/udp_datagram.hpp"

namespace anello::fabric {

/// Assembles the messages of one peer from datagrams that may be lost, duplicated or reordered. At most `n_messages`
/// are open at a time; when a newer one needs the place, the oldest open message is given up.
class UdpReassembly {
  public:
    static constexpr std::size_t n_messages = 64;

    UdpReassembly(Peer from, std::size_t max_message_bytes, Listener& listener, Counters<FabricCounter> counters);

    /// Begins a new connection. Open messages are lost, except those from `sent_below` on, which the sender itself gave
    /// up. The listener is not notified of each: on_peer() reports the peer down.
    void reset(std::uint64_t sent_below) noexcept;

    /// Hot path, all three functions: no allocation, no lock, no log, no throw. Returns false if the datagram
    /// contradicts an earlier one of its message.
    bool take(const PieceView& piece, Nanoseconds now_ns) noexcept;
    /// Messages below this number were sent. This reveals the loss of the last ones.
    bool expect_below(std::uint64_t number, Nanoseconds now_ns) noexcept;
    /// Gives up messages that have been open for longer than this.
    void give_up_older_than(Nanoseconds age_ns, Nanoseconds now_ns) noexcept;

    /// Whether any message is open, so that give_up_older_than() must be called later.
    bool waits() const noexcept { return oldest_ != next_; }

    /// For tests, with no message open: continues at this number, which would take days to reach.
    void begin_at(std::uint64_t number) noexcept { oldest_ = next_ = number; }

  private:
    /// refused: the message has no place and counts as discarded; its duplicated pieces are still recognised.
    enum class State : std::uint8_t { unseen, open, refused, over };
    struct Message {
        State state = State::over;
        DatagramHead head;  ///< of the first of its datagrams that arrived
        std::array<std::byte, max_header_bytes> header{};
        std::byte* place = nullptr;
        std::size_t n_missing = 0;
        Nanoseconds since_ns = 0;

        std::span<const std::byte> header_view() const noexcept { return std::span(header).first(head.header_bytes); }
    };

    Message& at(std::uint64_t number) noexcept { return messages_[number % n_messages]; }
    std::span<std::uint64_t> pieces_of(std::uint64_t number) noexcept;
    void open(Message& message, const PieceView& piece) noexcept;
    void end(Message& message) noexcept;
    bool close(Message& message) noexcept;
    void give_up_oldest() noexcept;
    void advance() noexcept;

    Peer from_;
    Listener* listener_;
    Counters<FabricCounter> counters_;
    std::size_t words_per_message_;
    std::vector<Message> messages_;
    std::vector<std::uint64_t> pieces_;    ///< a bit for each piece that arrived
    std::uint64_t oldest_ = 0, next_ = 0;  ///< all messages below oldest_ are over; none at next_ or above was seen
};

}  // namespace anello::fabric
