// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/trigger_pool.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace anello::rich {
namespace {

constexpr events::BatchShape shape{.max_events = 4, .max_hits = 64};
const HitPosition positions[]{{0, 0}};

struct Pool {
    explicit Pool(std::uint32_t n_workers)
        : batches({.n_buffers = 8, .buffer_bytes = events::batch_bytes(shape), .kind = memory::Kind::host}),
          pool({}, positions, shape, batches, n_workers, SystemClock::instance()) {}

    bool give(std::uint32_t number) {
        events::BatchCompletion batch{};
        if (!batches.try_take_free(batch.buffer)) return false;
        const events::BatchColumns columns = pool.columns(batch.buffer);
        batch.n_events = 1;
        columns.event_key[0] = number;
        columns.hit_offset[0] = columns.hit_offset[1] = 0;
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

TEST(TriggerPool, ThreadsKeepTheOrder) {
    constexpr std::uint32_t n_batches = 20'000, n_workers = 2;
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
}  // namespace anello::rich
