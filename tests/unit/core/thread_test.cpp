// SPDX-License-Identifier: Apache-2.0
#include "core/thread.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "core/errors.hpp"

namespace anello {
namespace {

/// Number of rests of a thread that did little n_times, each time followed by a look that found work or not.
int n_rests(RestChoice& rests, int n_times, bool more_comes) {
    int n = 0;
    for (int i = 0; i < n_times; ++i) {
        n += rests.should_rest() ? 1 : 0;
        rests.looked(more_comes);
    }
    return n;
}

TEST(RestChoice, AThreadRestsAsLongAsMoreComesMeanwhile) {
    RestChoice rests;
    EXPECT_EQ(n_rests(rests, 100, true), 100);
    EXPECT_EQ(n_rests(rests, 160, false), 1 + 159 / 16) << "and tries now and then whether it pays again";
    n_rests(rests, RestChoice::try_again_every, true);
    EXPECT_EQ(n_rests(rests, 100, true), 100);
}

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

TEST(WorkerThread, IsWokenForEveryPieceOfWork) {
    std::atomic<int> n_given{0}, n_done{0};
    WorkerThread thread({.name = "test", .wait = WaitPolicy::sleep, .can_be_woken = true}, [&] {
        const int n_now = n_given.load() - n_done.load();
        n_done.fetch_add(n_now);
        n_done.notify_one();
        return static_cast<std::size_t>(n_now);
    });
    thread.start();
    for (int i = 1; i <= 1000; ++i) {
        n_given.store(i);
        thread.wake();
        n_done.wait(i - 1);
    }
    thread.stop();
    EXPECT_EQ(n_done.load(), 1000);
}

/// However long it may wait, it ends when stop() is called.
TEST(WorkerThread, IsWokenForTheEnd) {
    std::atomic<int> n_asked{0};
    WorkerThread thread({.name = "test",
                         .can_be_woken = true,
                         .longest_wait_ns =
                             [&] {
                                 n_asked.fetch_add(1);
                                 n_asked.notify_one();
                                 return Nanoseconds{3'600'000'000'000};
                             }},
                        [] { return std::size_t{0}; });
    thread.start();
    while (n_asked.load() < 20) {  // after some steps without work it waits
        thread.wake();
        std::this_thread::yield();
    }
    thread.stop();
}

/// Also if stop() is called just before it says that it wants to be woken.
TEST(WorkerThread, EndsWheneverItIsTold) {
    for (int i = 0; i < 2'000; ++i) {
        WorkerThread thread(
            {.name = "test", .can_be_woken = true, .longest_wait_ns = [] { return Nanoseconds{3'600'000'000'000}; }},
            [] { return std::size_t{0}; });
        thread.start();
        for (int spins = i % 100 * 20; spins > 0; --spins) thread.name();  // other moments
        thread.stop();
    }
}

TEST(WorkerThread, RunsBeforeOthersWhereThatIsPermitted) {
    const auto policy_of = [](WaitPolicy wait) {
        std::atomic<int> policy{-1};
        WorkerThread thread({.name = "test", .realtime = true, .wait = wait}, [&] {
            policy.store(sched_getscheduler(0));
            policy.notify_one();
            return std::size_t{0};
        });
        thread.start();
        policy.wait(-1);
        thread.stop();
        EXPECT_EQ(thread.is_realtime(), policy == SCHED_FIFO);
        return policy.load();
    };
    EXPECT_EQ(policy_of(WaitPolicy::spin), SCHED_OTHER) << "it would never leave the core";
    if (policy_of(WaitPolicy::sleep) != SCHED_FIFO) GTEST_SKIP() << "not permitted here: CAP_SYS_NICE";
}

/// A busy thread also yields to others of its core now and then, or the system would stop it for long.
TEST(WorkerThread, ARealtimeThreadThatIsNeverDonePauses) {
    std::atomic<long> n_pauses{-1};
    WorkerThread thread({.name = "test", .realtime = true}, [&] {
        rusage used{};
        getrusage(RUSAGE_THREAD, &used);
        n_pauses.store(used.ru_nvcsw);
        n_pauses.notify_one();
        return std::size_t{1};
    });
    thread.start();
    const bool is_permitted = [&] {
        n_pauses.wait(-1);
        return thread.is_realtime();
    }();
    while (is_permitted && n_pauses.load() < 10) std::this_thread::yield();  // for ever: the test's time-out tells
    thread.stop();
    if (!is_permitted) GTEST_SKIP() << "not permitted here: CAP_SYS_NICE";
}

TEST(WorkerThread, ADescriptorThatIsReadableInVainDoesNotKeepItBusy) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    std::atomic<int> n_calls{0};
    std::atomic<long> n_sleeps{0};
    WorkerThread thread({.name = "test", .wait = WaitPolicy::sleep, .wake_descriptor = ends[0]}, [&] {
        rusage used{};
        getrusage(RUSAGE_THREAD, &used);
        n_sleeps.store(used.ru_nvcsw);
        n_calls.fetch_add(1);
        n_calls.notify_one();
        return std::size_t{0};
    });
    thread.start();
    while (n_calls.load() < 2000) n_calls.wait(n_calls.load());
    thread.stop();
    EXPECT_GT(n_sleeps.load(), 900);  // each second wait is a sleep, but for the first few
    close(ends[0]);
    close(ends[1]);
}

TEST(WaitPolicy, IsParsedOrRefused) {
    EXPECT_EQ(parse_wait_policy("spin"), WaitPolicy::spin);
    EXPECT_EQ(parse_wait_policy("sleep"), WaitPolicy::sleep);
    EXPECT_THROW(parse_wait_policy("doze"), ConfigError);
}

}  // namespace
}  // namespace anello
