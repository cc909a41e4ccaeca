// SPDX-License-Identifier: Apache-2.0
#include "core/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "core/errors.hpp"

namespace anello {
namespace {

TEST(WorkerThread, WorksUntilStopped) {
    std::atomic<int> n_calls{0};
    WorkerThread thread({.name = "test", .core = -1, .wait = WaitPolicy::sleep}, [&] {
        n_calls.fetch_add(1);
        n_calls.notify_one();
        return std::size_t{0};
    });
    thread.start();
    n_calls.wait(0);
    thread.stop();
    const int seen = n_calls.load();
    EXPECT_GT(seen, 0);
    thread.stop();
    EXPECT_EQ(n_calls.load(), seen);
}

TEST(WorkerThread, ACoreThatDoesNotExistIsNamed) {
    WorkerThread thread({.name = "trigger", .core = 100'000, .wait = WaitPolicy::sleep}, [] { return std::size_t{0}; });
    try {
        thread.start();
        FAIL() << "a missing core was accepted";
    } catch (const ConfigError& error) {
        EXPECT_EQ(error.field(), "trigger.core");
        EXPECT_EQ(error.given(), "100000");
    }
}

TEST(WaitPolicy, IsParsedOrRefused) {
    EXPECT_EQ(parse_wait_policy("spin"), WaitPolicy::spin);
    EXPECT_EQ(parse_wait_policy("sleep"), WaitPolicy::sleep);
    EXPECT_THROW(parse_wait_policy("doze"), ConfigError);
}

}  // namespace
}  // namespace anello
