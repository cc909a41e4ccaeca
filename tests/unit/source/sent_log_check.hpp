// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "source/fault_injector.hpp"
#include "source/sent_log.hpp"

namespace anello::source::test {

inline constexpr FaultsConfig all_faults{
    .loss = 0.08, .duplicate = 0.07, .reorder = 0.09, .corrupt = 0.06, .truncate = 0.05};

inline std::uint64_t size_of(const RangeLog& log) {
    std::uint64_t n = 0;
    for (const auto& range : log.ranges()) n += range.end - range.begin;
    return n;
}

inline std::uint64_t n_withheld(const SentLog& log, Withheld why) {
    std::uint64_t n = 0;
    for (const auto& range : log.withheld.ranges())
        n += range.cause == static_cast<std::uint32_t>(why) ? range.end - range.begin : 0;
    return n;
}

/// Every number that was made went out whole, or is withheld for a cause; never both.
template <typename Sequences>
void expect_whole(const SentLog& log, const Sequences& sequences) {
    std::multiset<std::uint64_t> numbers;
    for (const auto& range : log.withheld.ranges())
        for (std::uint64_t number = range.begin; number < range.end; ++number) {
            EXPECT_EQ(range.epoch, 0U);
            numbers.insert(number);
        }
    const std::set<std::uint64_t> sent(sequences.begin(), sequences.end());
    numbers.insert(sent.begin(), sent.end());
    ASSERT_EQ(log.made.ranges().size(), 1U);
    EXPECT_EQ(numbers.size(), log.made.ranges()[0].end);
    std::uint64_t expected = 0;
    for (const std::uint64_t number : numbers) ASSERT_EQ(number, expected++);
    EXPECT_EQ(log.withheld.n_not_listed(), 0U);
}

}  // namespace anello::source::test
