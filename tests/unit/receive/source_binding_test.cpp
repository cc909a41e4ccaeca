// SPDX-License-Identifier: Apache-2.0
#include "receive/numbers/source_binding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/errors.hpp"

namespace anello::receive::source_binding_test {
namespace {

using testing::HasSubstr;
constexpr SourceAddress own(0x0a000006, 5000), other_port(0x0a000006, 5001), neighbour(0x0a000005, 4711),
    third(0x0a000009, 9);
constexpr Nanoseconds just_now = 0;

/// One board; says how a datagram is judged.
struct Board {
    bool hears(SourceAddress source, Nanoseconds heard_ago_ns = just_now, bool is_right = true) {
        last = SourceWatch::Judgement::used;
        if (!binding.is_bound_to(source)) last = watch.judge(binding, source, is_right, heard_ago_ns);
        if (last == SourceWatch::Judgement::stranger) return false;
        binding.note_accepted();
        return true;
    }
    int hears_of(int n, SourceAddress source) {
        int n_used = 0;
        for (int i = 0; i < n; ++i) n_used += hears(source) ? 1 : 0;
        return n_used;
    }
    SourceBinding binding;
    SourceWatch watch;
    SourceWatch::Judgement last{};
};

TEST(SourceAddress, IsReadAndWritten) {
    EXPECT_EQ(to_text(parse_source("10.0.0.5:4711")), "10.0.0.5:4711");
    EXPECT_EQ(parse_source("10.0.0.5:4711"), neighbour);
    EXPECT_EQ(parse_source("10.0.0.5"), SourceAddress(0x0a000005, 0));
    EXPECT_EQ(parse_source(""), SourceAddress{});
}

TEST(SourceAddress, IsReadAndWrittenOfIp6) {
    const SourceAddress board = parse_source("[2001:db8::5]:4711"), host = parse_source("2001:db8::5"),
                        other = parse_source("[2001:db8::6]:4711");
    EXPECT_EQ(to_text(board), "[2001:db8::5]:4711");
    EXPECT_EQ(board, parse_source("[2001:0db8:0:0::5]:4711"));
    EXPECT_TRUE(board.is_ip6());
    EXPECT_EQ(board.port(), 4711);
    EXPECT_EQ(host.port(), 0);
    EXPECT_TRUE(board.is_same_host(host));
    EXPECT_FALSE(board.is_same_host(other));
    EXPECT_EQ(to_text(parse_source("::1")), "[::1]:0");
    EXPECT_EQ(parse_source("[::ffff:10.0.0.5]:4711"), neighbour) << "IPv4, as a socket for both writes it";
    EXPECT_FALSE(neighbour.is_ip6());
}

/// Strangers from everywhere: names run out, addresses stay apart.
TEST(SourceAddress, OfManyIp6HostsAreAllDifferent) {
    std::vector<std::uint64_t> values;
    for (std::uint32_t i = 1; i <= 5000; ++i) {
        Ip6Bytes host{};
        std::memcpy(host.data() + 12, &i, sizeof i);
        host[0] = std::byte{0xfd};
        values.push_back(SourceAddress::of_ip6(host, 7).value());
        EXPECT_THAT(to_text(SourceAddress::of_value(values.back())), testing::EndsWith("]:7"));
    }
    std::ranges::sort(values);
    EXPECT_EQ(std::ranges::adjacent_find(values), values.end());
}

TEST(SourceAddress, RefusesWhatIsNone) {
    for (const char* text : {"10.0.0", "host", ":4711", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:65536", "10.0.0.5:47x",
                             "10.0.0.5:-1", "0.0.0.0", " 10.0.0.5", "::", "[::1", "[::1]x", "[::1]:0", "::1::2", "[]"})
        try {
            parse_source(text);
            ADD_FAILURE() << text;
        } catch (const ConfigError& error) {
            EXPECT_THAT(error.what(), HasSubstr("receive.sources"));
        }
}

TEST(SourceBinding, IsToTheFirstThatSpeaksRight) {
    Board board;
    EXPECT_TRUE(board.hears(neighbour, just_now, false));  // malformed, and nobody's yet
    EXPECT_EQ(board.binding.source(), SourceAddress{});
    EXPECT_TRUE(board.hears(own));
    EXPECT_EQ(board.binding.source(), own);
    EXPECT_FALSE(board.hears(neighbour));
    EXPECT_FALSE(board.hears(neighbour, just_now, false));
    EXPECT_EQ(board.watch.stranger(), neighbour);
}

TEST(SourceBinding, OnTrialTheOneThatSendsMoreIsTheBoard) {
    Board board;
    EXPECT_EQ(board.hears_of(20, neighbour), 20);
    EXPECT_EQ(board.hears_of(20, own), 0);
    EXPECT_TRUE(board.hears(own));
    EXPECT_EQ(board.last, SourceWatch::Judgement::taken_over);
    EXPECT_EQ(board.binding.source(), own);
    EXPECT_EQ(board.watch.take_mistaken(), 20U);
    EXPECT_EQ(board.watch.take_mistaken(), 0U) << "once";
    EXPECT_EQ(board.watch.stranger(), SourceAddress{}) << "the board is none";
    EXPECT_EQ(board.watch.disowned(), neighbour);
    for (int i = 0; i < 5000; ++i) {
        EXPECT_TRUE(board.hears(own));
        if (i % 100 == 0) {
            EXPECT_FALSE(board.hears(neighbour));
        }
    }
}

TEST(SourceBinding, OnTrialSeveralStrangersDoNotKeepTheBoardOut) {
    Board board;
    board.hears(neighbour);
    int n_used = 0;
    for (std::uint16_t i = 0; i < 100; ++i) {
        n_used += board.hears_of(3, own);
        board.hears({0x0a000100, static_cast<std::uint16_t>(1000 + i)});
    }
    EXPECT_GT(n_used, 290);
}

TEST(SourceBinding, AfterItsTrialNoOtherHostGetsIn) {
    Board board;
    board.hears_of(SourceBinding::trial_datagrams, own);
    EXPECT_EQ(board.hears_of(5000, neighbour), 0);
    EXPECT_FALSE(board.hears(neighbour, 100 * SourceWatch::silence_ns));
    EXPECT_EQ(board.binding.source(), own);
    EXPECT_FALSE(board.watch.may_speak(board.binding, neighbour, 100 * SourceWatch::silence_ns));
}

TEST(SourceBinding, TheSameHostComesBackFromAnotherPortOnceTheOldOneIsSilent) {
    Board board;
    board.hears_of(SourceBinding::trial_datagrams, own);
    EXPECT_FALSE(board.hears(other_port, SourceWatch::silence_ns - 1));
    EXPECT_FALSE(board.hears(other_port, SourceWatch::silence_ns, false));  // not by rubbish
    EXPECT_TRUE(board.hears(other_port, SourceWatch::silence_ns));
    EXPECT_EQ(board.last, SourceWatch::Judgement::used);
    EXPECT_FALSE(board.hears(own));
}

TEST(SourceBinding, BeginsItsTrialAnewWhenTheBoardHasEndedItsRun) {
    Board board;
    board.hears_of(5000, own);
    SourceWatch::begin_trial(board.binding);
    EXPECT_TRUE(board.hears(other_port));
    EXPECT_EQ(board.last, SourceWatch::Judgement::used);
    EXPECT_FALSE(board.hears(own));
}

TEST(SourceBinding, WhatIsConfiguredIsNotUpForTrial) {
    Board whole, host;
    whole.watch.expect(own);
    host.watch.expect({own.host(), 0});
    for (Board* board : {&whole, &host}) {
        EXPECT_EQ(board->hears_of(10, neighbour), 0);
        EXPECT_TRUE(board->hears(own));
        EXPECT_EQ(board->hears_of(2000, third), 0);
    }
    EXPECT_FALSE(whole.hears(other_port, SourceWatch::silence_ns));
    EXPECT_TRUE(host.hears(other_port, SourceWatch::silence_ns));
}

TEST(ThrottledNotice, ComesWithTheFirstAndWithTenTimesAsMany) {
    ThrottledNotice notice;
    EXPECT_FALSE(notice.is_due(0));
    EXPECT_TRUE(notice.is_due(3));
    EXPECT_FALSE(notice.is_due(29));
    EXPECT_TRUE(notice.is_due(30));
}

/// Texts of the notices on board 6 after the last look.
std::vector<std::string> told(SpeakerNotices& notices, std::uint64_t n_strangers, const Speakers& speakers) {
    Notices lines;
    notices.look(6, n_strangers, speakers, lines);
    std::vector<std::string> texts;
    for (const Notice& line : lines) texts.push_back(line.text);
    return texts;
}

TEST(SpeakerNotices, NameTheStrangerAndTheBoard) {
    SpeakerNotices notices;
    EXPECT_THAT(told(notices, 0, {.bound = own, .stranger = {}, .disowned = {}}), testing::IsEmpty());
    EXPECT_THAT(
        told(notices, 3, {.bound = own, .stranger = neighbour, .disowned = {}}),
        testing::ElementsAre(testing::AllOf(HasSubstr("board 6: datagrams also come from 10.0.0.5:4711 (3 so far)"),
                                            HasSubstr("10.0.0.6:5000"))));
    EXPECT_THAT(told(notices, 4, {.bound = own, .stranger = neighbour, .disowned = {}}), testing::IsEmpty());
}

TEST(SpeakerNotices, SayWhoIsNotNamed) {
    SpeakerNotices notices;
    EXPECT_THAT(told(notices, 3, {.bound = {}, .stranger = neighbour, .disowned = {}}),
                testing::ElementsAre(HasSubstr("receive.sources does not name")));
}

TEST(SpeakerNotices, TellATakeOverOnceWithBothAddresses) {
    SpeakerNotices notices;
    const Speakers after{.bound = own, .stranger = {}, .disowned = neighbour};
    EXPECT_THAT(told(notices, 0, after), testing::ElementsAre(testing::AllOf(HasSubstr("10.0.0.6:5000 has sent more"),
                                                                             HasSubstr("10.0.0.5:4711"))));
    EXPECT_THAT(told(notices, 0, after), testing::IsEmpty());
}

/// One thread reads the board's address while another changes it.
TEST(SpeakerNotices, NeverCallTheBoardAStrangerToItself) {
    SpeakerNotices notices;
    EXPECT_THAT(told(notices, 3, {.bound = own, .stranger = own, .disowned = {}}), testing::IsEmpty());
}

}  // namespace
}  // namespace anello::receive::source_binding_test
