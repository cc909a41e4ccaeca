// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/trigger_pool.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "effort.hpp"
#include "rich/tests/device_by_ids.hpp"

namespace anello::rich::trigger_pool_test {
namespace {

constexpr events::BatchShape shape{.max_events = 4, .max_hits = 64};
const HitPosition positions[]{{0, 0}};

struct Pool {
    explicit Pool(std::uint32_t n_workers, const DeciderConfig& config = {})
        : batches({.n_buffers = 8, .buffer_bytes = events::batch_bytes(shape), .kind = memory::Kind::host}),
          pool(config, positions, shape, batches, n_workers, SystemClock::instance()) {}

    bool give(std::uint32_t number, std::uint32_t n_events = 1) {
        events::BatchCompletion batch{};
        if (!batches.try_take_free(batch.buffer)) return false;
        const events::BatchColumns columns = pool.columns(batch.buffer);
        batch.n_events = n_events;
        batch.burst_id = number;
        columns.event_key[0] = number;
        columns.hit_offset[0] = columns.hit_offset[1] = 0;
        columns.hit_id[0] = 0;
        return pool.try_give(batch);
    }

    memory::PersistentBuffers batches;
    TriggerPool pool;
};

TEST(TriggerPool, DecisionsComeInTheOrderGivenWhicheverWorkerIsFirst) {
    Pool test(3);
    for (std::uint32_t i = 0; i < 6; ++i) ASSERT_TRUE(test.give(i));
    Decided decided{};
    EXPECT_EQ(test.pool.do_work(2), 1U);
    EXPECT_EQ(test.pool.do_work(1), 1U);
    EXPECT_FALSE(test.pool.try_take(decided)) << "batch 0 is not decided yet";
    for (int round = 0; round < 2; ++round)
        for (std::uint32_t worker = 0; worker < 3; ++worker) test.pool.do_work(worker);
    for (std::uint32_t i = 0; i < 6; ++i) {
        ASSERT_TRUE(test.pool.try_take(decided));
        const auto view = test.pool.view(decided);
        EXPECT_EQ(view.n_events, 1U);
        EXPECT_EQ(view.event_key[0], i);
    }
}

/// A batch without events, such as the end of a burst, waits for the batches before it.
TEST(TriggerPool, WhatADeviceHasUnderWayComesInTheOrderGiven) {
    Pool test(1, with_device_by_ids());
    for (std::uint32_t i = 0; i < 6; ++i) ASSERT_TRUE(test.give(i, i == 3 ? 0 : 1));
    Decided decided{};
    EXPECT_EQ(test.pool.do_work(0), 1U);
    EXPECT_EQ(test.pool.do_work(0), 1U);
    EXPECT_FALSE(test.pool.try_take(decided)) << "two are under way";
    EXPECT_EQ(test.pool.do_work(0), 1U);
    EXPECT_TRUE(test.pool.has_done(0)) << "a third one takes the first one's place";
    std::size_t n_more = 0;
    while (const std::size_t n = test.pool.do_work(0)) n_more += n;
    EXPECT_EQ(n_more, 5U) << "three begun, of which one at once, and the last two collected";
    for (std::uint32_t i = 0; i < 6; ++i) {
        ASSERT_TRUE(test.pool.try_take(decided)) << "batch " << i;
        EXPECT_EQ(decided.batch.burst_id, i);
        EXPECT_EQ(decided.outcome.device, Decider::Device::used) << "batch " << i;
        if (i != 3) EXPECT_EQ(test.pool.view(decided).rings[0].n_rings, 1) << "batch " << i;
        EXPECT_GE(decided.trigger_ns, 0);
    }
    EXPECT_FALSE(test.pool.try_take(decided));
}

TEST(TriggerPool, BatchesThatADeviceLosesKeepTheirTurn) {
    Pool test(2, with_device_by_ids(3, 1));
    for (std::uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(test.give(i));
    for (std::size_t n = 1; n > 0;) n = test.pool.do_work(0) + test.pool.do_work(1);
    Decided decided{};
    int n_failed = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
        ASSERT_TRUE(test.pool.try_take(decided)) << "batch " << i;
        EXPECT_EQ(decided.batch.burst_id, i);
        n_failed += decided.outcome.device == Decider::Device::failed ? 1 : 0;
    }
    EXPECT_EQ(n_failed, 6) << "of each worker's four the first is the device's";
}

TEST(TriggerPool, ThreadsKeepTheOrder) {
    constexpr std::uint32_t n_workers = 2;
    const auto n_batches = anello::test::some_of<std::uint32_t>(20'000);
    Pool test(n_workers);
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
        for (std::uint32_t i = 0; i < n_batches;)
            if (test.give(i))
                ++i;
            else
                std::this_thread::yield();
    });
    for (std::uint32_t worker = 0; worker < n_workers; ++worker)
        threads.emplace_back([&, worker] {
            while (!done.load())
                if (test.pool.do_work(worker) == 0) std::this_thread::yield();
        });
    std::uint32_t next = 0, n_wrong = 0;
    Decided decided{};
    while (next < n_batches) {
        if (!test.pool.try_take(decided)) {
            std::this_thread::yield();
            continue;
        }
        n_wrong += test.pool.view(decided).event_key[0] != next++ ? 1U : 0U;
        test.batches.give_back(decided.batch.buffer);
    }
    done.store(true);
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(n_wrong, 0U);
}

}  // namespace
}  // namespace anello::rich::trigger_pool_test
