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

/// Puts the messages of one peer together from datagrams that may be lost, doubled or out of order. At most
/// `n_messages` are open at a time; of what is older and not whole, nothing is waited for.
class UdpReassembly {
  public:
    static constexpr std::size_t n_messages = 64;

    UdpReassembly(Peer from, std::size_t max_message_bytes, Listener& listener, Counters<FabricCounter> counters);

    /// A new connection. Open messages are lost, except those from `sent_below` on, which the sender itself gave up;
    /// the listener is not told of them: it learns that the peer is down.
    void reset(std::uint64_t sent_below) noexcept;

    /// Hot path, all three: no allocation, no lock, no log, no throw.
    /// False where the datagram contradicts an earlier one of its message.
    bool take(const PieceView& piece, Nanoseconds now_ns) noexcept;
    /// Messages below this number were sent: tells the loss of a tail.
    bool expect_below(std::uint64_t number, Nanoseconds now_ns) noexcept;
    /// Gives up what is open longer than this.
    void give_up_older_than(Nanoseconds age_ns, Nanoseconds now_ns) noexcept;

    /// Whether anything is open, which needs give_up_older_than() some time.
    bool waits() const noexcept { return oldest_ != next_; }

    /// For tests, with nothing open: as after so many messages, which would take days.
    void begin_at(std::uint64_t number) noexcept { oldest_ = next_ = number; }

  private:
    /// refused: without a place, counted as discarded; its pieces are still told from doubled ones.
    enum class State : std::uint8_t { unseen, open, refused, over };
    struct Message {
        State state = State::over;
        DatagramHead head;  ///< of its first datagram that came
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
    std::vector<std::uint64_t> pieces_;    ///< a bit for each piece that came
    std::uint64_t oldest_ = 0, next_ = 0;  ///< below oldest_ all are over, at next_ and above none was seen
};

}  // namespace anello::fabric
