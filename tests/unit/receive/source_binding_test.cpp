// SPDX-License-Identifier: Apache-2.0
#include "receive/source_binding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace anello::receive::source_binding_test {
namespace {

using testing::HasSubstr;
constexpr SourceAddress own(0x0a000006, 5000), other_port(0x0a000006, 5001), neighbour(0x0a000005, 4711),
    third(0x0a000009, 9);
constexpr Nanoseconds just_now = 0;

/// One board; says what becomes of a datagram.
struct Board {
    bool hears(SourceAddress source, Nanoseconds heard_ago_ns = just_now, bool is_right = true) {
        last = SourceWatch::Judgement::used;
        if (!binding.is_bound_to(source)) last = watch.judge(binding, source, is_right, heard_ago_ns);
        if (last == SourceWatch::Judgement::stranger) return false;
        binding.hear();
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

TEST(SourceAddress, RefusesWhatIsNone) {
    for (const char* text : {"10.0.0", "host", ":4711", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:65536", "10.0.0.5:47x",
                             "10.0.0.5:-1", "0.0.0.0", " 10.0.0.5", "::1"})
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

TEST(TenfoldNotice, ComesWithTheFirstAndWithTenTimesAsMany) {
    TenfoldNotice notice;
    EXPECT_FALSE(notice.is_due(0));
    EXPECT_TRUE(notice.is_due(3));
    EXPECT_FALSE(notice.is_due(29));
    EXPECT_TRUE(notice.is_due(30));
    EXPECT_THAT(stranger_words(6, 3, neighbour, own),
                HasSubstr("board 6: datagrams also come from 10.0.0.5:4711 (3 so far)"));
    EXPECT_THAT(stranger_words(6, 3, neighbour, own), HasSubstr("10.0.0.6:5000"));
    EXPECT_THAT(stranger_words(6, 3, neighbour, {}), HasSubstr("receive.sources does not name"));
}

}  // namespace
}  // namespace anello::receive::source_binding_test
