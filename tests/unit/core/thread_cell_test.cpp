// SPDX-License-Identifier: Apache-2.0
#include "core/counters/thread_cell.hpp"

#include <gtest/gtest.h>

namespace anello::thread_cell_test {
namespace {

constexpr Nanoseconds ms = 1'000'000;

class Cell : public ::testing::Test {
  protected:
    Cell() { cell.begin(now_ns); }
    /// Works work_ns and waits wait_ns, again and again.
    void go_on(int n_times, Nanoseconds work_ns, Nanoseconds wait_ns) {
        for (int i = 0; i < n_times; ++i) {
            cell.came_by(now_ns += work_ns, true);
            cell.came_by(now_ns += wait_ns, false);
        }
    }
    ThreadCell cell;
    Nanoseconds now_ns = 77 * ms;
};

TEST_F(Cell, TellsTheShareOfItsTime) {
    go_on(10'000, 3 * ms, ms);
    EXPECT_NEAR(cell.told().busy, 0.75, 1e-6);
    EXPECT_NEAR(cell.told().busy_last, 0.75, 0.01);
    EXPECT_EQ(cell.told().longest_ns, 3 * ms);
    EXPECT_EQ(cell.told().seen_ns, now_ns);
}

TEST_F(Cell, TheLastSecondForgetsWhatWasBefore) {
    go_on(1, 900 * ms, ms);
    go_on(300, ms, 9 * ms);
    EXPECT_EQ(cell.told().longest_ns, 900 * ms);
    EXPECT_EQ(cell.told().longest_last_ns, ms);
    EXPECT_NEAR(cell.told().busy_last, 0.1, 0.01);
    EXPECT_GT(cell.told().busy, 0.25);
}

TEST_F(Cell, OneThatHasEndedDoesNotRun) {
    EXPECT_TRUE(cell.told().runs);
    cell.end(now_ns);
    EXPECT_FALSE(cell.told().runs);
}

TEST_F(Cell, OneThatBeginsAgainBeginsAnew) {
    go_on(1000, 3 * ms, ms);
    cell.end(now_ns);
    cell.begin(now_ns += 5 * ms);
    EXPECT_EQ(cell.told().busy, 0);
    EXPECT_EQ(cell.told().longest_last_ns, 0);
}

}  // namespace
}  // namespace anello::thread_cell_test
