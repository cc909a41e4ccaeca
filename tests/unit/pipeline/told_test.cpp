// SPDX-License-Identifier: Apache-2.0
#include "pipeline/told.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace anello::pipeline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

auto says(Severity severity, const char* words) {
    return AllOf(Field(&Notice::text, HasSubstr(words)), Field(&Notice::severity, severity));
}

Notices told(SilenceNotice& notice, bool is_silent, std::uint64_t n_silences) {
    Notices notices;
    notice.look(7, is_silent, n_silences, 20'000'000, notices);
    return notices;
}

TEST(SilenceNotice, TellsThatABoardIsSilentAndThatItIsBackOnceEach) {
    SilenceNotice notice;
    EXPECT_THAT(told(notice, false, 0), IsEmpty());
    EXPECT_THAT(told(notice, true, 1),
                ElementsAre(says(Severity::warning, "board 7 is silent: nothing came for 20 ms")));
    EXPECT_THAT(told(notice, true, 1), IsEmpty());
    EXPECT_THAT(told(notice, false, 1),
                ElementsAre(says(Severity::info, "board 7 was silent and sends again (1 times")));
    EXPECT_THAT(told(notice, false, 1), IsEmpty());
}

TEST(SilenceNotice, TellsASilenceThatWasOverBeforeAnybodyLooked) {
    SilenceNotice notice;
    EXPECT_THAT(told(notice, false, 3), ElementsAre(says(Severity::info, "sends again (3 times")));
}

TEST(AddedNotice, TellsWhatWasAddedSinceTheLastLook) {
    AddedNotice notice;
    EXPECT_EQ(notice.added(5), 5U);
    EXPECT_EQ(notice.added(5), 0U);
    EXPECT_EQ(notice.added(7), 2U);
}

TEST(FaultNotice, TellsTheFirstEachTenfoldAndTheLastNumber) {
    FaultNotice notice;
    EXPECT_FALSE(notice.is_due(0, false));
    EXPECT_TRUE(notice.is_due(176, false));
    EXPECT_FALSE(notice.is_due(1141, false));
    EXPECT_TRUE(notice.is_due(1760, false));
    EXPECT_TRUE(notice.is_due(1761, true));
    EXPECT_FALSE(notice.is_due(1761, true));
    EXPECT_FALSE(FaultNotice{}.is_due(0, true));
}

}  // namespace
}  // namespace anello::pipeline
