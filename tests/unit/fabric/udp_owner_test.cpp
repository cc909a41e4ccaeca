// SPDX-License-Identifier: Apache-2.0
// The owner of a message's memory is notified when the rest of it never comes: until then it may not reuse the memory.
#include <gtest/gtest.h>

#include <vector>

#include "fabric/udp/udp_reassembly.hpp"

namespace anello::fabric::udp_owner_test {
namespace {

constexpr std::size_t piece_bytes = least_piece_bytes, message_bytes = 2 * piece_bytes;

struct Owner final : Listener {
    std::span<std::byte> place(Peer, std::span<const std::byte>, std::size_t n_bytes) noexcept override {
        return std::span(memory).first(gives_place ? n_bytes : 0);
    }
    void on_message(Peer, std::span<const std::byte>, std::span<std::byte>) noexcept override { ++n_come; }
    void on_lost(Peer from, std::span<const std::byte> header) noexcept override {
        EXPECT_EQ(from, 3);
        lost.push_back(std::to_integer<int>(header.front()));
    }
    void on_signal(Peer, std::uint64_t) noexcept override {}
    void on_done(Peer, std::uint64_t, Status) noexcept override {}
    void on_peer(Peer, PeerState) noexcept override {}

    bool gives_place = true;
    int n_come = 0;
    std::vector<int> lost;  ///< by the byte that is their header
    std::vector<std::byte> memory = std::vector<std::byte>(message_bytes);
};

class UdpOwner : public ::testing::Test {
  protected:
    void take(std::uint64_t message, std::uint32_t piece) {
        const std::byte header{static_cast<unsigned char>(message)};
        DatagramHead head;
        head.kind = DatagramKind::data;
        head.message = message;
        head.payload_bytes = message_bytes;
        head.piece = piece;
        head.piece_bytes = piece_bytes;
        head.header_bytes = 1;
        EXPECT_TRUE(reassembly_.take({head, {&header, 1}, bytes_}, now_ns_));
    }

    Owner owner_;
    CounterPage page_;
    Counters<FabricCounter> counters_ = page_.add_block<FabricCounter>("fabric");
    UdpReassembly reassembly_{3, message_bytes, owner_, counters_};
    std::vector<std::byte> bytes_ = std::vector<std::byte>(piece_bytes);
    Nanoseconds now_ns_ = 1'000;
};

TEST_F(UdpOwner, IsToldOfAMessageThatIsTooOld) {
    take(0, 0);
    take(1, 0);
    take(1, 1);
    EXPECT_EQ(owner_.n_come, 1);
    reassembly_.give_up_older_than(100, now_ns_ + 50);
    EXPECT_TRUE(owner_.lost.empty());
    reassembly_.give_up_older_than(100, now_ns_ + 200);
    EXPECT_EQ(owner_.lost, std::vector<int>{0});
    EXPECT_EQ(counters_[FabricCounter::messages_lost], 1U);
    take(0, 1);  // too late: its place is another's now
    EXPECT_EQ(owner_.n_come, 1);
}

TEST_F(UdpOwner, IsToldOfAMessageThatLaterOnesPushOut) {
    take(0, 0);
    for (std::uint64_t message = 1; message <= UdpReassembly::n_messages; ++message) {
        take(message, 0);
        take(message, 1);
    }
    EXPECT_EQ(owner_.lost, std::vector<int>{0});
}

TEST_F(UdpOwner, IsNotToldOfWhatItGaveNoPlace) {
    owner_.gives_place = false;
    take(0, 0);
    reassembly_.expect_below(3, now_ns_);  // two more, of which nothing came
    reassembly_.give_up_older_than(100, now_ns_ + 200);
    EXPECT_TRUE(owner_.lost.empty());
}

}  // namespace
}  // namespace anello::fabric::udp_owner_test
