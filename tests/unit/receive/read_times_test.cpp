// SPDX-License-Identifier: Apache-2.0
#include "receive/datagrams/read_times.hpp"

#include <gtest/gtest.h>

namespace anello::receive::read_times_test {
namespace {

constexpr Nanoseconds ms = 1'000'000;

/// Its streams are empty or not, as a test says.
class SaidBackend final : public Backend {
  public:
    std::size_t n_streams() const noexcept override { return 2; }
    std::uint16_t port(std::uint16_t) const noexcept override { return 0; }
    std::size_t receive(std::span<Datagram>) noexcept override { return 0; }
    void set_wanted(std::uint16_t, bool) noexcept override {}
    bool is_read(std::uint16_t stream) const noexcept override { return is_empty[stream]; }
    Nanoseconds held_back_ns() const noexcept override { return held_back; }
    std::uint64_t kernel_dropped(std::uint16_t) const noexcept override { return 0; }
    std::string describe() const override { return "as a test says"; }

    std::array<bool, 2> is_empty{true, true};
    Nanoseconds held_back = 0;
};

struct Rig {
    /// One read that brings these datagrams.
    void read(std::vector<Datagram> datagrams = {}) {
        times.begin(clock.monotonic_ns());
        times.see(datagrams);
        times.end();
    }
    /// Reads each millisecond without any datagram.
    void pass(Nanoseconds time_ns) {
        for (; time_ns > 0; time_ns -= ms) {
            clock.advance(ms);
            read();
        }
    }
    Datagram stamped(std::uint16_t stream, Nanoseconds ago_ns) const {
        return {.bytes = {}, .stream = stream, .kernel_ns = clock.wall_ns() - ago_ns};
    }
    Nanoseconds ago(std::size_t stream) const { return clock.monotonic_ns() - times.until_ns(stream); }

    ManualClock clock{10'000 * ms};
    SaidBackend backend;
    ReadTimes times{backend, clock};
};

TEST(ReadTimes, AnEmptyStreamHasBeenReadUntilNow) {
    Rig rig;
    rig.pass(5 * ms);
    EXPECT_EQ(rig.ago(0), 0);
    rig.backend.is_empty[1] = false;
    rig.pass(5 * ms);
    EXPECT_EQ(rig.ago(0), 0);
    EXPECT_EQ(rig.ago(1), 5 * ms) << "it was empty then";
    EXPECT_EQ(rig.clock.monotonic_ns() - rig.times.until_ns(), 5 * ms) << "all streams";
}

TEST(ReadTimes, AFullStreamHasBeenReadUntilTheLastDatagramCame) {
    Rig rig;
    rig.backend.is_empty[0] = false;
    rig.clock.advance(1000 * ms);
    rig.read({rig.stamped(0, 900 * ms), rig.stamped(0, 800 * ms)});
    EXPECT_EQ(rig.ago(0), 800 * ms);
    rig.clock.advance(ms);
    rig.read();
    EXPECT_EQ(rig.ago(0), 801 * ms) << "nothing of it was read";
    rig.clock.advance(ms);
    rig.read({rig.stamped(0, 950 * ms)});
    EXPECT_EQ(rig.ago(0), 802 * ms) << "never back";
    rig.clock.advance(ms);
    rig.read({rig.stamped(0, -5 * ms)});
    EXPECT_EQ(rig.ago(0), 803 * ms) << "the wall clock was set back: its stamps say nothing";
}

TEST(ReadTimes, WithoutStampsALongestBacklogIsAssumed) {
    Rig rig;
    rig.backend.is_empty[0] = false;
    rig.pass(10 * ms);
    EXPECT_EQ(rig.ago(0), 10 * ms);
    rig.pass(2 * ReadTimes::longest_backlog_ns);
    EXPECT_EQ(rig.ago(0), ReadTimes::longest_backlog_ns);
}

/// The whole machine may have stood still, and datagrams that are sent at once afterwards take their time.
TEST(ReadTimes, AfterAGapAnEmptyStreamSaysNothingForAWhile) {
    Rig rig;
    rig.clock.advance(ReadTimes::longest_gap_ns);
    rig.read();
    EXPECT_EQ(rig.ago(0), 0) << "no gap yet";
    rig.clock.advance(500 * ms);
    rig.read();
    EXPECT_EQ(rig.ago(0), 500 * ms);
    rig.pass(ReadTimes::settling_ns - ms);
    EXPECT_EQ(rig.ago(0), 500 * ms + ReadTimes::settling_ns - ms);
    rig.pass(ms);
    EXPECT_EQ(rig.ago(0), 0);
    for (int i = 0; i < 100; ++i) {
        rig.clock.advance(500 * ms);
        rig.read();
    }
    EXPECT_EQ(rig.ago(0), ReadTimes::longest_backlog_ns) << "a thread that hardly ever runs still comes to an end";
}

TEST(ReadTimes, WhatTheSystemHoldsBackHasNotBeenRead) {
    Rig rig;
    rig.backend.held_back = 3 * ms;
    rig.pass(20 * ms);
    EXPECT_EQ(rig.ago(0), 3 * ms);
}

}  // namespace
}  // namespace anello::receive::read_times_test
