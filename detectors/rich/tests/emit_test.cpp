// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <random>
#include <tuple>

#include "core/errors.hpp"
#include "rich/emit/primitive_emitter.hpp"
#include "rich/emit/primitive_listener.hpp"
#include "rich/emit/udp_sink.hpp"

namespace anello::rich::emit_test {
namespace {

using wire::mtp::Primitive;
using Seen = std::vector<std::pair<std::uint32_t, Primitive>>;

struct Decision {
    std::uint32_t timestamp_ticks;
    std::uint8_t fine_time;
    std::uint16_t primitive_id;
};

class Recorder final : public PrimitiveObserver {
  public:
    void on_primitive(std::uint32_t burst, const Primitive& primitive) noexcept override {
        seen.emplace_back(burst, primitive);
    }
    Seen seen;
};

/// Passes datagrams to a checker; refuses them as the test configures it.
class CheckingSink final : public DatagramSink {
  public:
    explicit CheckingSink(PrimitiveChecker& checker) : checker_(checker) {}
    SendResult send(std::span<const std::span<const std::byte>> datagrams) noexcept override {
        if (n_refusals > 0) {
            --n_refusals;
            return {0, error};
        }
        const std::size_t n = std::min(datagrams.size(), most_at_once);
        for (std::size_t i = 0; i < n; ++i) checker_.check(datagrams[i]);
        return {n, 0};
    }
    std::size_t most_at_once = 7;
    std::uint32_t n_refusals = 0;
    int error = EAGAIN;

  private:
    PrimitiveChecker& checker_;
};

void give(PrimitiveEmitter& emitter, const std::vector<Decision>& decisions, std::uint32_t burst_id, bool end) {
    std::vector<std::uint64_t> key;
    std::vector<std::uint8_t> fine;
    std::vector<std::uint16_t> id;
    for (const Decision& d : decisions) {
        key.push_back((std::uint64_t{burst_id} << 32) | d.timestamp_ticks);
        fine.push_back(d.fine_time);
        id.push_back(d.primitive_id);
    }
    DecisionBatch batch{};
    batch.n_events = static_cast<std::uint32_t>(decisions.size());
    batch.burst_id = burst_id;
    batch.end_of_burst = end;
    batch.event_key = key.data();
    batch.fine_time = fine.data();
    batch.primitive_id = id.data();
    emitter.give(batch);
}

/// Ascending times of a Poisson process; a third of the decisions has no primitive.
std::vector<Decision> random_decisions(std::mt19937& dice, std::size_t n, double mean_ticks) {
    std::exponential_distribution<double> step(1 / mean_ticks);
    std::vector<Decision> decisions;
    double time_fine = 0;
    while (decisions.size() < n) {
        time_fine += step(dice) * 256;
        const auto fine = static_cast<std::uint64_t>(time_fine);
        const bool has_primitive = dice() % 3 != 0;
        decisions.push_back({static_cast<std::uint32_t>(fine >> 8), static_cast<std::uint8_t>(fine),
                             static_cast<std::uint16_t>(has_primitive ? 0x100 + dice() % 0x7000 : 0)});
    }
    return decisions;
}

Seen expected_of(const std::vector<Decision>& decisions, std::uint32_t burst) {
    Seen expected;
    for (const Decision& d : decisions)
        if (d.primitive_id != 0) expected.push_back({burst, {d.primitive_id, d.fine_time, d.timestamp_ticks}});
    return expected;
}

struct Rig {
    explicit Rig(const EmitterConfig& config = {}) : emitter(config, sink, page) {}
    std::uint64_t sent(EmitCounter c) const { return emitter.counters()[c]; }
    std::uint64_t heard(ListenCounter c) const { return checker.counters()[c]; }
    void expect_balance() const {
        using enum EmitCounter;
        EXPECT_EQ(sent(primitives_in),
                  sent(primitives) + sent(primitives_late) + sent(primitives_overflow) + sent(primitives_invalid));
        EXPECT_EQ(sent(frames), sent(frames_sent) + sent(frames_lost));
        EXPECT_EQ(sent(frames_sent), heard(ListenCounter::frames));
        EXPECT_EQ(sent(bytes_sent), heard(ListenCounter::bytes));
        EXPECT_EQ(checker.verdicts()[wire::Verdict::ok], heard(ListenCounter::datagrams));
        EXPECT_EQ(heard(ListenCounter::frames_out_of_order), 0U);
    }
    CounterPage page;
    Recorder recorder;
    PrimitiveChecker checker{wire::KnownSources(0x1C, 1), page, "listen", &recorder};
    CheckingSink sink{checker};
    PrimitiveEmitter emitter;
};

TEST(PrimitiveEmitter, EveryPrimitiveArrivesOnceInItsFrame) {
    std::mt19937 dice(11);
    Rig rig;
    Seen expected;
    std::uint64_t n_frames = 0;
    for (std::uint32_t burst = 0; burst < 3; ++burst) {
        const auto decisions = random_decisions(dice, 3000, 60);
        for (std::size_t at = 0; at < decisions.size(); at += 300)
            give(rig.emitter,
                 {decisions.begin() + static_cast<std::ptrdiff_t>(at),
                  decisions.begin() + static_cast<std::ptrdiff_t>(at) + 300},
                 burst + 5, at + 300 == decisions.size());
        for (const auto& primitive : expected_of(decisions, burst)) expected.push_back(primitive);
        n_frames += decisions.back().timestamp_ticks / 256 + 1;
    }
    EXPECT_EQ(rig.recorder.seen, expected);
    EXPECT_EQ(rig.heard(ListenCounter::frames), n_frames);
    EXPECT_EQ(rig.heard(ListenCounter::frames_missing), 0U);
    EXPECT_EQ(rig.heard(ListenCounter::bursts), 3U);
    rig.expect_balance();
}

TEST(PrimitiveEmitter, AFrameWaitsForADecisionBeyondIt) {
    Rig rig;
    give(rig.emitter, {{10, 0, 0x100}, {600, 0, 0}}, 1, false);
    EXPECT_EQ(rig.heard(ListenCounter::frames), 2U) << "frames 0 and 1; frame 2 may still get primitives";
    EXPECT_EQ(rig.heard(ListenCounter::frames_empty), 1U);
    give(rig.emitter, {{700, 0, 0x101}}, 1, false);
    EXPECT_EQ(rig.heard(ListenCounter::frames), 2U);
    rig.emitter.finish();
    EXPECT_EQ(rig.heard(ListenCounter::frames), 3U);
    EXPECT_EQ(rig.recorder.seen.size(), 2U);
    rig.expect_balance();
}

TEST(PrimitiveEmitter, CountsWhatCannotBeWritten) {
    Rig rig;
    std::vector<Decision> decisions(300, {1000, 7, 0x200});
    decisions.push_back({1000, 8, 0x20});  // the format has no such id
    decisions.push_back({2000, 0, 0x300});
    decisions.push_back({1000, 0, 0x400});  // its frame was already sent
    decisions.push_back({1999, 0, 0x400});  // its frame is open, but a later primitive is in it
    give(rig.emitter, decisions, 1, true);
    EXPECT_EQ(rig.sent(EmitCounter::primitives), 256U);
    EXPECT_EQ(rig.sent(EmitCounter::primitives_overflow), 45U);
    EXPECT_EQ(rig.sent(EmitCounter::primitives_invalid), 1U);
    EXPECT_EQ(rig.sent(EmitCounter::primitives_late), 2U);
    rig.expect_balance();
}

TEST(PrimitiveEmitter, ALeapIsSkippedNotFilled) {
    EmitterConfig config;
    config.max_gap_frames = 100;
    Rig longest(config);
    give(longest.emitter, {{0, 0, 0x100}, {100 * 256, 0, 0x101}}, 1, true);
    EXPECT_EQ(longest.sent(EmitCounter::frames_skipped), 0U);
    EXPECT_EQ(longest.heard(ListenCounter::frames), 101U);
    longest.expect_balance();
    Rig rig(config);
    give(rig.emitter, {{0, 0, 0x100}, {101 * 256, 0, 0x101}, {102 * 256, 0, 0x102}}, 1, true);
    EXPECT_EQ(rig.sent(EmitCounter::frames_skipped), 100U);
    EXPECT_EQ(rig.heard(ListenCounter::frames), 3U);
    EXPECT_EQ(rig.heard(ListenCounter::frames_missing), 100U);
    rig.expect_balance();
}

TEST(PrimitiveEmitter, TriesAgainWhenTheSystemIsFullThenCountsTheLoss) {
    EmitterConfig config;
    config.max_tries = 5;
    Rig rig(config);
    rig.sink.n_refusals = 4;
    give(rig.emitter, {{0, 0, 0x100}, {256, 0, 0x101}}, 1, false);
    EXPECT_EQ(rig.sent(EmitCounter::errors_full), 4U);
    EXPECT_EQ(rig.sent(EmitCounter::frames_lost), 0U);
    rig.sink.n_refusals = 5;
    give(rig.emitter, {{512, 0, 0x102}, {768, 0, 0}}, 1, false);
    EXPECT_EQ(rig.sent(EmitCounter::frames_lost), 1U);
    rig.sink.n_refusals = 2;
    rig.sink.error = ENOBUFS;  // the queue of a device is full
    give(rig.emitter, {{1024, 0, 0}}, 1, false);
    EXPECT_EQ(rig.sent(EmitCounter::errors_full), 4U + 5U + 2U);
    EXPECT_EQ(rig.sent(EmitCounter::frames_lost), 1U);
    rig.sink.n_refusals = 1;
    rig.sink.error = EPERM;  // another attempt is useless
    give(rig.emitter, {{1280, 0, 0x103}}, 1, true);
    EXPECT_EQ(rig.sent(EmitCounter::errors_other), 1U);
    EXPECT_EQ(rig.sent(EmitCounter::frames_lost), 2U);
    rig.expect_balance();
}

TEST(PrimitiveEmitter, StaysInItsMemoryOverManySmallBatches) {
    Rig rig;
    std::vector<Decision> all;
    for (std::uint32_t frame = 0; frame < 5000; ++frame) {
        std::vector<Decision> decisions(frame % 256, {frame * 256, 3, 0x111});
        give(rig.emitter, decisions, 1, false);
        all.insert(all.end(), decisions.begin(), decisions.end());
    }
    rig.emitter.finish();
    EXPECT_EQ(rig.recorder.seen, expected_of(all, 0));
    rig.expect_balance();
}

TEST(PrimitiveChecker, SeesMissingRepeatedAndDamagedFrames) {
    CounterPage page;
    PrimitiveChecker checker(wire::KnownSources(0x1C, 1), page);
    std::array<std::byte, wire::mtp::full_packet_bytes> bytes{};
    const auto send = [&](std::uint32_t frame) {
        wire::mtp::PacketWriter writer(bytes, 0x1C, 0);
        writer.begin(frame);
        checker.check({bytes.data(), writer.finish()});
    };
    for (const std::uint32_t frame : {0U, 1U, 4U, 3U, 4U, 5U}) send(frame);
    EXPECT_EQ(checker.counters()[ListenCounter::frames_missing], 2U);
    EXPECT_EQ(checker.counters()[ListenCounter::frames_out_of_order], 2U);
    send(0);  // the next burst
    EXPECT_EQ(checker.counters()[ListenCounter::bursts], 2U);
    checker.check({bytes.data(), 7});
    EXPECT_EQ(checker.verdicts()[wire::Verdict::too_short], 1U);
    bytes[3] = std::byte{0x55};
    checker.check({bytes.data(), 8});
    EXPECT_EQ(checker.verdicts()[wire::Verdict::unknown_source], 1U);
    EXPECT_EQ(checker.counters()[ListenCounter::frames], 7U);
}

TEST(PrimitiveChecker, ABurstOfOneFrameIsNotTheBeginOfTheNextOne) {
    Rig rig;
    const std::vector<Decision> one{{3, 0, 0x101}}, next{{5, 0, 0x102}, {300, 0, 0x101}};
    give(rig.emitter, one, 1, true);
    give(rig.emitter, next, 2, true);
    Seen expected = expected_of(one, 0);
    for (const auto& primitive : expected_of(next, 1)) expected.push_back(primitive);
    EXPECT_EQ(rig.recorder.seen, expected);
    EXPECT_EQ(rig.heard(ListenCounter::bursts), 2U);
    rig.expect_balance();
}

class OverLoopback : public testing::TestWithParam<bool> {};

TEST_P(OverLoopback, EveryPrimitiveArrivesOnce) {
    CounterPage page;
    Recorder recorder;
    PrimitiveListener listener({}, page, "listen", &recorder);
    UdpSink sink({.host = "127.0.0.1", .port = listener.port(), .gso = GetParam()}, SystemClock::instance());
    PrimitiveEmitter emitter({}, sink, page);
    std::mt19937 dice(12);
    const auto decisions = random_decisions(dice, 4000, 300);
    for (std::size_t at = 0; at < decisions.size(); at += 100) {
        give(emitter,
             {decisions.begin() + static_cast<std::ptrdiff_t>(at),
              decisions.begin() + static_cast<std::ptrdiff_t>(at) + 100},
             1, at + 100 == decisions.size());
        while (listener.do_work() > 0) {
        }
    }
    while (listener.do_work() > 0) {
    }
    EXPECT_EQ(recorder.seen, expected_of(decisions, 0));
    EXPECT_EQ(listener.checker().counters()[ListenCounter::frames], emitter.counters()[EmitCounter::frames_sent]);
    EXPECT_EQ(listener.checker().counters()[ListenCounter::frames_missing], 0U);
    EXPECT_EQ(emitter.counters()[EmitCounter::frames_lost], 0U);
    EXPECT_EQ(emitter.do_work(), 0U);
}
INSTANTIATE_TEST_SUITE_P(WithAndWithoutGso, OverLoopback, testing::Bool());

TEST(UdpSink, TellsThatNobodyListensAndSendsOn) {
    std::uint16_t port = 0;
    CounterPage page;
    {
        PrimitiveListener listener({}, page, "gone");
        port = listener.port();
    }
    UdpSink sink({.host = "127.0.0.1", .port = port}, SystemClock::instance());
    PrimitiveEmitter emitter({}, sink, page);
    give(emitter, {{0, 0, 0x100}, {1000, 0, 0x101}}, 1, true);
    emitter.do_work();
    EXPECT_EQ(emitter.counters()[EmitCounter::errors_refused], 1U);
    EXPECT_EQ(emitter.counters()[EmitCounter::frames_sent], 4U);
}

TEST(UdpSink, ErrorsAtSetUpNameTheCause) {
    EXPECT_THROW(UdpSink({.host = "127.0.0.1", .port = 0}, SystemClock::instance()), ConfigError);
    EXPECT_THROW(UdpSink({.host = "256.0.0.1.", .port = 1}, SystemClock::instance()), ConfigError);
    CounterPage page;
    PrimitiveListener first({}, page, "first");
    EXPECT_THROW(PrimitiveListener({.port = first.port()}, page, "second"), SystemError);
}

}  // namespace
}  // namespace anello::rich::emit_test
