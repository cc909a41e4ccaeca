// SPDX-License-Identifier: Apache-2.0
#include "fabric/udp/udp_reassembly.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace anello::fabric {
namespace {

/// A number that jumps further is not trusted. Numbers count from 0 and never wrap: at a million messages per second
/// that takes half a million years, so a number near the end is false, and the next one would be 0.
constexpr std::uint64_t largest_message_leap = 1 << 16;
constexpr std::uint64_t last_number = UINT64_MAX - largest_message_leap;

}  // namespace

UdpReassembly::UdpReassembly(Peer from, std::size_t max_message_bytes, Listener& listener,
                             Counters<FabricCounter> counters)
    : from_(from),
      listener_(&listener),
      counters_(counters),
      words_per_message_((n_pieces(max_message_bytes, least_piece_bytes) + 63) / 64),
      messages_(n_messages),
      pieces_(n_messages * words_per_message_) {}

void UdpReassembly::reset(std::uint64_t sent_below) noexcept {
    for (; oldest_ < std::min(next_, sent_below); ++oldest_) close(at(oldest_));
    oldest_ = next_ = 0;
}

std::span<std::uint64_t> UdpReassembly::pieces_of(std::uint64_t number) noexcept {
    return std::span(pieces_).subspan(number % n_messages * words_per_message_, words_per_message_);
}

bool UdpReassembly::take(const PieceView& piece, Nanoseconds now_ns) noexcept {
    const std::uint64_t number = piece.head.message;
    if (number < oldest_) {
        counters_.add(FabricCounter::datagrams_duplicate);
        return true;
    }
    if (number >= last_number || !expect_below(number + 1, now_ns)) return false;
    Message& message = at(number);
    if (message.state == State::unseen) open(message, piece);
    const DatagramHead& first = message.head;
    if (first.payload_bytes != piece.head.payload_bytes || first.piece_bytes != piece.head.piece_bytes ||
        !std::ranges::equal(message.header_view(), piece.header))
        return false;
    std::uint64_t& word = pieces_of(number)[piece.head.piece / 64];
    const std::uint64_t bit = std::uint64_t{1} << piece.head.piece % 64;
    if ((word & bit) != 0) {
        counters_.add(FabricCounter::datagrams_duplicate);
        return true;
    }
    word |= bit;
    if (message.state == State::open && !piece.piece.empty())
        std::memcpy(message.place + piece.offset(), piece.piece.data(), piece.piece.size());
    if (--message.n_missing == 0) end(message);
    return true;
}

bool UdpReassembly::expect_below(std::uint64_t number, Nanoseconds now_ns) noexcept {
    if (number <= next_) return true;
    if (number > last_number || number - next_ > largest_message_leap) return false;
    for (; next_ != number; ++next_) {
        if (next_ - oldest_ == n_messages) give_up_oldest();
        at(next_).state = State::unseen;
        at(next_).since_ns = now_ns;
    }
    return true;
}

void UdpReassembly::open(Message& message, const PieceView& piece) noexcept {
    message.head = piece.head;
    std::ranges::copy(piece.header, message.header.begin());
    std::ranges::fill(pieces_of(piece.head.message), 0);
    message.n_missing = n_pieces(piece.head.payload_bytes, piece.head.piece_bytes);
    message.state = State::open;
    message.place = nullptr;
    if (piece.head.payload_bytes == 0) return;
    const std::span<std::byte> place = listener_->place(from_, message.header_view(), piece.head.payload_bytes);
    if (place.size() >= piece.head.payload_bytes) {
        message.place = place.data();
        return;
    }
    counters_.add(FabricCounter::messages_discarded);
    message.state = State::refused;
}

void UdpReassembly::end(Message& message) noexcept {
    const State was = std::exchange(message.state, State::over);
    advance();
    if (was == State::refused) return;
    counters_.add(FabricCounter::messages_received);
    counters_.add(FabricCounter::message_bytes_received, message.head.payload_bytes);
    listener_->on_message(from_, message.header_view(), {message.place, message.head.payload_bytes});
}

void UdpReassembly::give_up_oldest() noexcept {
    Message& message = at(oldest_++);
    if (close(message) && message.place != nullptr) listener_->on_lost(from_, message.header_view());
}

/// Returns whether the message was open; if it was incomplete it is lost.
bool UdpReassembly::close(Message& message) noexcept {
    const State was = std::exchange(message.state, State::over);
    if (was == State::unseen || was == State::open) counters_.add(FabricCounter::messages_lost);
    return was == State::open;
}

void UdpReassembly::give_up_older_than(Nanoseconds age_ns, Nanoseconds now_ns) noexcept {
    while (oldest_ != next_ && now_ns - at(oldest_).since_ns >= age_ns) give_up_oldest();
}

void UdpReassembly::advance() noexcept {
    while (oldest_ != next_ && at(oldest_).state == State::over) ++oldest_;
}

}  // namespace anello::fabric
