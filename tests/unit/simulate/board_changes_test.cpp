// SPDX-License-Identifier: Apache-2.0
#include "simulate/board_changes.hpp"

#include <gmock/gmock.h>

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace anello::simulate {
namespace {

using Datagram = std::vector<std::byte>;

/// Keeps the first byte of what reaches the wire, and the stream.
class Wire final : public source::PacketSink {
  public:
    void send(std::span<const source::OutgoingDatagram> datagrams, Nanoseconds,
              source::SendResult* results) noexcept override {
        for (const source::OutgoingDatagram& one : datagrams) {
            came.emplace_back(one.stream, std::to_integer<int>(one.bytes[0]));
            *results++ = source::SendResult::sent;
        }
    }
    std::vector<std::pair<std::uint32_t, int>> came;
};

/// Adds 100 to the first byte of boards that are back, and announces the first of these by 99.
class Boards final : public ChangedBoards {
  public:
    using ChangedBoards::ChangedBoards;

  private:
    Fate change(std::uint32_t board, std::span<std::byte> datagram, Nanoseconds since_ns, Change& change,
                Datagram& announcement) override {
        if (is_off(board, since_ns)) return Fate::dropped;
        if (!is_back(board, since_ns)) return Fate::sent;
        change.is_anew = true;
        if (!std::exchange(was_back_, true)) announcement = {std::byte{99}};
        datagram[0] = static_cast<std::byte>(std::to_integer<int>(datagram[0]) + 100);
        return Fate::sent;
    }
    bool was_back_ = false;
};

TEST(BoardChanges, DrawnBoardsAreThoseOfTheDetector) {
    constexpr std::uint32_t n_boards = 4;
    std::uint32_t n_single = 0, n_crates = 0, n_clocks = 0, n_wraps = 0;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        BoardChanges drawn;
        draw(drawn, n_boards, 40, seed);
        EXPECT_LE(drawn.first_rebooting + drawn.n_rebooting, n_boards) << seed;
        EXPECT_LE(drawn.first_wrong_clock + drawn.n_wrong_clocks, n_boards) << seed;
        n_single += drawn.n_rebooting == 1 ? 1 : 0;
        n_crates += drawn.n_rebooting == n_boards ? 1 : 0;
        n_clocks += drawn.n_wrong_clocks > 0 ? 1 : 0;
        n_wraps += drawn.wraps_after > 0 ? 1 : 0;
    }
    EXPECT_GT(n_single, 40U);
    EXPECT_GT(n_crates, 5U);
    EXPECT_GT(n_clocks, 50U);
    EXPECT_GT(n_wraps, 40U);
}

TEST(BoardChanges, ABoardThatBeginsAnewIsOffAndThenComesBack) {
    World world;
    Wire wire;
    Boards boards({.n_rebooting = 1, .first_rebooting = 1, .reboot_at_ns = 10, .down_ns = 10}, wire, world);
    const Datagram bytes{std::byte{7}};
    const source::OutgoingDatagram of_0{.bytes = bytes, .stream = 0, .n_fragments = 1};
    const source::OutgoingDatagram of_1{.bytes = bytes, .stream = 1, .n_fragments = 1};
    for (const Nanoseconds at_ns : {5, 15, 25, 35}) {
        world.run_until(World::begin_ns + at_ns);
        std::array<source::SendResult, 2> results{source::SendResult::failed, source::SendResult::failed};
        boards.send(std::array{of_0, of_1}, 0, results.data());
        EXPECT_EQ(results[1], source::SendResult::sent) << "a board that is off does not know it";
    }
    using Sent = std::pair<std::uint32_t, int>;
    EXPECT_THAT(wire.came, testing::ElementsAre(Sent{0, 7}, Sent{1, 7}, Sent{0, 7}, Sent{0, 7}, Sent{1, 99},
                                                Sent{1, 107}, Sent{0, 7}, Sent{1, 107}));
    EXPECT_TRUE(boards.change_of(1, Datagram{std::byte{107}}).is_anew);
    EXPECT_FALSE(boards.change_of(1, bytes).is_anew);
}

TEST(BoardChanges, AreDescribed) {
    BoardChanges changes{.n_rebooting = 1, .first_rebooting = 2, .reboot_at_ns = 3'000'000, .down_ns = 500'000};
    EXPECT_THAT(told(changes), testing::ElementsAre("at 3 ms: board 2 begins anew after 0.5 ms, packets count from 0"));
    changes = {.n_wrong_clocks = 3, .first_wrong_clock = 1, .clock_at_ns = 1'000'000, .clock_ns = 2'000'000};
    EXPECT_THAT(told(changes), testing::ElementsAre("at 1 ms: for 2 ms the clocks of boards 1 to 3 stand still"));
    EXPECT_THAT(told(BoardChanges{}), testing::IsEmpty());
}

}  // namespace
}  // namespace anello::simulate
