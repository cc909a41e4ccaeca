// SPDX-License-Identifier: Apache-2.0
#include "fabric/udp/udp_reassembly.hpp"

#include <gtest/gtest.h>

#include "conformance/fabric/fabric_farm.hpp"

namespace anello::fabric::udp_reassembly_test {
namespace {

using conformance::Bytes;
using conformance::Recorder;

constexpr std::size_t piece_bytes = 400, payload_bytes = 700;
constexpr std::uint64_t last_slot = UdpReassembly::n_messages - 1;  ///< where number 2^64-1 would lie, too

class UdpReassemblyNumbers : public ::testing::Test {
  protected:
    UdpReassemblyNumbers() { listener_.on_peer(3, PeerState::up); }

    bool take(std::uint64_t number, std::uint32_t piece) {
        PieceView view;
        view.head = {.kind = DatagramKind::data,
                     .message = number,
                     .payload_bytes = payload_bytes,
                     .piece = piece,
                     .piece_bytes = piece_bytes};
        view.piece = std::span(bytes_).first(std::min(piece_bytes, payload_bytes - view.offset()));
        return reassembly_.take(view, 0);
    }

    const Bytes bytes_ = conformance::pattern(1, piece_bytes);
    Recorder listener_;
    CounterPage page_;
    Counters<FabricCounter> counters_ = page_.add_block<FabricCounter>("fabric");
    UdpReassembly reassembly_{3, 5'000, listener_, counters_};
};

TEST_F(UdpReassemblyNumbers, TheLastOfAllNumbersIsNoWayIntoMemoryThatWasGivenBack) {
    EXPECT_TRUE(take(last_slot, 0));
    reassembly_.give_up_older_than(0, 0);  // its place is the caller's again
    for (const std::uint64_t lie : {UINT64_MAX, UINT64_MAX - UdpReassembly::n_messages, UINT64_MAX - 1})
        EXPECT_FALSE(take(lie, 1)) << lie;
    EXPECT_TRUE(listener_.messages.empty());
    EXPECT_EQ(counters_[FabricCounter::messages_received], 0U);
    EXPECT_FALSE(reassembly_.waits());
}

TEST_F(UdpReassemblyNumbers, NoNumberMakesThemComeRound) {
    EXPECT_TRUE(take(5, 0));
    EXPECT_FALSE(reassembly_.expect_below(UINT64_MAX, 0));
    EXPECT_FALSE(take(UINT64_MAX - (1U << 16), 0));
    EXPECT_TRUE(take(5, 1)) << "an open message continues";
    EXPECT_EQ(listener_.messages.size(), 1U);
}

}  // namespace
}  // namespace anello::fabric::udp_reassembly_test
