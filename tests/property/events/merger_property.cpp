// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <random>

#include "unit/events/merger_rig.hpp"

namespace anello::events::test::merger_property {
namespace {

using Fragments = std::vector<TestFragment>;

/// Random but reproducible by one number, which rapidcheck prints and shrinks.
class Dice {
  public:
    explicit Dice(std::uint32_t seed) : engine_(seed) {}
    std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(engine_); }
    bool one_in(std::uint32_t n) { return below(n) == 0; }
    std::mt19937& engine() { return engine_; }

  private:
    std::mt19937 engine_;
};

MergerConfig random_config(Dice& dice) {
    MergerConfig config;
    config.n_boards = 1 + dice.below(6);
    config.window_ticks = dice.below(6);
    config.batch = {.max_events = 1 + dice.below(20), .max_hits = 8 + dice.below(100)};
    config.blocks_per_board = 2 + dice.below(5);
    config.close_when_idle = dice.one_in(2);
    return config;
}

/// A board that most others leave alone in a burst is not believed: its fragments are counted as ahead of the others.
bool most_saw_the_burst(const MergerRig& rig) {
    return rig.value(BuildCounter::fragments_ahead) == 0U;
}

/// What the boards see of random events: sorted streams, with losses; times close to each other and across the wrap.
std::vector<Fragments> random_streams(Dice& dice, const MergerConfig& config, std::uint32_t n_events) {
    std::vector<Fragments> streams(config.n_boards);
    std::uint32_t time = dice.one_in(2) ? 0xffffffff - dice.below(n_events * 8) : dice.below(1000);
    std::uint16_t number = 0;
    for (std::uint32_t i = 0; i < n_events; ++i, time += dice.below(12))
        for (Fragments& stream : streams) {
            if (dice.one_in(8)) continue;
            std::uint32_t at = time + (dice.one_in(3) ? dice.below(config.window_ticks + 2) : 0);
            if (!stream.empty() && static_cast<std::int32_t>(at - stream.back().timestamp_ticks) <= 0)
                at = stream.back().timestamp_ticks + dice.below(2);
            TestFragment fragment{at, static_cast<std::uint8_t>(dice.below(256))};
            if (!stream.empty() && at == stream.back().timestamp_ticks)  // keeps the stream in the order of fine time
                fragment.fine_time = std::max(fragment.fine_time, stream.back().fine_time);
            for (std::uint32_t hit = dice.below(12); hit > 0; --hit) fragment.hit_id.push_back(number++);
            stream.push_back(fragment);
        }
    return streams;
}

/// Cuts a stream into blocks of random length.
std::vector<Fragments> cut(Dice& dice, const Fragments& stream) {
    std::vector<Fragments> blocks;
    for (std::size_t at = 0; at < stream.size();) {
        const std::size_t n = std::min<std::size_t>(1 + dice.below(9), stream.size() - at);
        blocks.emplace_back(stream.begin() + static_cast<std::ptrdiff_t>(at),
                            stream.begin() + static_cast<std::ptrdiff_t>(at + n));
        at += n;
    }
    return blocks;
}

/// Gives all blocks, the boards in random turns, working in between; then the ends of the burst.
void feed(Dice& dice, MergerRig& rig, const std::vector<std::vector<Fragments>>& blocks) {
    std::vector<std::size_t> next(blocks.size());
    std::size_t n_left = 0;
    for (const auto& of_board : blocks) n_left += of_board.size();
    while (n_left > 0) {
        const std::uint32_t board = dice.below(static_cast<std::uint32_t>(blocks.size()));
        if (next[board] == blocks[board].size()) continue;
        rig.source.give(board, blocks[board][next[board]++]);
        --n_left;
        if (dice.one_in(2)) rig.work();
    }
    for (std::uint32_t board = 0; board < rig.config.n_boards; ++board) {
        rig.source.end(board);
        if (dice.one_in(2)) rig.work();
    }
    rig.work();
}

struct Expected {
    std::vector<TestEvent> events;
    std::uint64_t n_duplicates = 0;
};

/// The slow merger: all fragments at hand, one event at a time, the earliest first.
Expected merge_slowly(const MergerConfig& config, const std::vector<Fragments>& streams) {
    Expected expected;
    std::uint32_t origin = 0;
    for (const auto& stream : streams)
        if (!stream.empty()) origin = stream.front().timestamp_ticks - 0x40000000;
    const auto order = [&](const TestFragment& f) {
        return std::pair<std::uint32_t, std::uint8_t>(f.timestamp_ticks - origin, f.fine_time);
    };
    std::vector<std::size_t> at(streams.size());
    const auto skip_repeats = [&](std::size_t board) {
        for (; at[board] > 0 && at[board] < streams[board].size(); ++at[board], ++expected.n_duplicates)
            if (order(streams[board][at[board]]) != order(streams[board][at[board] - 1])) break;
    };
    for (;;) {
        const TestFragment* first = nullptr;
        for (std::size_t board = 0; board < streams.size(); ++board)
            if (at[board] < streams[board].size() &&
                (first == nullptr || order(streams[board][at[board]]) < order(*first)))
                first = &streams[board][at[board]];
        if (first == nullptr) return expected;
        TestEvent event{event_key(1, first->timestamp_ticks), first->fine_time, 0, 0, {}, {}, 0, 0, 0};
        for (std::size_t board = 0; board < streams.size(); ++board) {
            const bool is_in =
                at[board] < streams[board].size() &&
                streams[board][at[board]].timestamp_ticks - first->timestamp_ticks <= config.window_ticks;
            if (!is_in) {
                event.missing_boards |= 1U << board;
                continue;
            }
            const TestFragment& fragment = streams[board][at[board]++];
            const int later = static_cast<int>(fragment.timestamp_ticks - first->timestamp_ticks) * 256 +
                              fragment.fine_time - first->fine_time;
            event.hit_id.insert(event.hit_id.end(), fragment.hit_id.begin(), fragment.hit_id.end());
            event.hit_time_fine.resize(event.hit_id.size(), static_cast<std::int16_t>(later));
            skip_repeats(board);
        }
        if (event.missing_boards != 0) event.flags = EventFlag::incomplete;
        if (event.hit_id.size() > config.batch.max_hits) {
            event.flags |= EventFlag::truncated;
            event.hit_id.resize(config.batch.max_hits);
            event.hit_time_fine.resize(config.batch.max_hits);
        }
        expected.events.push_back(event);
    }
}

void expect_same(const std::vector<TestEvent>& events, const std::vector<TestEvent>& expected) {
    RC_ASSERT(events.size() == expected.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
        RC_ASSERT(events[i].event_key == expected[i].event_key);
        RC_ASSERT(events[i].fine_time == expected[i].fine_time);
        RC_ASSERT(events[i].flags == expected[i].flags);
        RC_ASSERT(events[i].missing_boards == expected[i].missing_boards);
        RC_ASSERT(events[i].hit_id == expected[i].hit_id);
        RC_ASSERT(events[i].hit_time_fine == expected[i].hit_time_fine);
    }
}

TEST(MergerProperty, SortedInputGivesTheReferenceEventsHoweverItIsCut) {
    EXPECT_TRUE(rc::check([](std::uint32_t seed) {
        Dice dice(seed);
        MergerRig rig(random_config(dice), 4);
        std::vector<Fragments> streams = random_streams(dice, rig.config, 1 + dice.below(120));
        for (Fragments& stream : streams)  // a repeated fragment now and then
            for (std::size_t i = 0; i < stream.size(); ++i)
                if (dice.one_in(20)) stream.insert(stream.begin() + static_cast<std::ptrdiff_t>(i), stream[i]);
        std::vector<std::vector<Fragments>> blocks;
        for (const Fragments& stream : streams) blocks.push_back(cut(dice, stream));
        feed(dice, rig, blocks);
        RC_PRE(most_saw_the_burst(rig));
        const Expected expected = merge_slowly(rig.config, streams);
        expect_same(rig.events, expected.events);
        RC_ASSERT(rig.value(BuildCounter::fragments_late) == 0U);
        RC_ASSERT(rig.value(BuildCounter::fragments_duplicate) == expected.n_duplicates);
        RC_ASSERT(!rig.completions.empty() && rig.completions.back().end_of_burst);
        rig.expect_balance();
        RC_ASSERT(!testing::Test::HasFailure());
    }));
}

TEST(MergerProperty, ReorderWithinWhatIsAtHandChangesNothing) {
    EXPECT_TRUE(rc::check([](std::uint32_t seed) {
        Dice dice(seed);
        MergerConfig config = random_config(dice);
        config.blocks_per_board = 64;
        MergerRig rig(config, 4);
        std::vector<Fragments> streams = random_streams(dice, rig.config, 1 + dice.below(60));
        for (std::uint32_t board = 0; board < config.n_boards; ++board) {
            // One fragment per tick: a block counts as sorted when its ticks are, whatever the fine times do.
            Fragments& stream = streams[board];
            const auto same_tick = [](const TestFragment& a, const TestFragment& b) {
                return a.timestamp_ticks == b.timestamp_ticks;
            };
            stream.erase(std::unique(stream.begin(), stream.end(), same_tick), stream.end());
            Fragments shuffled = stream;
            std::shuffle(shuffled.begin(), shuffled.end(), dice.engine());
            for (const Fragments& block : cut(dice, shuffled)) rig.source.give(board, block);
            rig.source.end(board);
        }
        rig.work();
        RC_PRE(most_saw_the_burst(rig));
        const Expected expected = merge_slowly(rig.config, streams);
        RC_ASSERT(rig.events.size() == expected.events.size());
        for (std::size_t i = 0; i < rig.events.size(); ++i) {
            RC_ASSERT(rig.events[i].event_key == expected.events[i].event_key);
            RC_ASSERT(rig.events[i].missing_boards == expected.events[i].missing_boards);
        }
        rig.expect_balance();
        RC_ASSERT(!testing::Test::HasFailure());
    }));
}

/// Everything at once: whatever comes, every fragment has one outcome, every buffer comes back and it ends.
TEST(MergerProperty, ChaosBalancesAndEnds) {
    EXPECT_TRUE(rc::check([](std::uint32_t seed) {
        Dice dice(seed);
        MergerConfig config = random_config(dice);
        config.keep_incomplete = !dice.one_in(4);
        MergerRig rig(config, 2 + dice.below(4));
        const std::uint32_t dead_board = dice.below(config.n_boards * 3);
        std::uint64_t n_given = 0;
        std::size_t n_calls = 0, n_blocks = 0;
        for (std::uint32_t burst = 1; burst <= 3; ++burst) {
            const std::vector<Fragments> streams = random_streams(dice, config, 1 + dice.below(40));
            for (std::uint32_t board = 0; board < config.n_boards; ++board) {
                if (board == dead_board) continue;
                std::vector<Fragments> blocks = cut(dice, streams[board]);
                for (std::size_t i = 0; i < blocks.size(); ++i) {
                    if (dice.one_in(10)) blocks.push_back(blocks[i]);
                    if (dice.one_in(10))
                        std::swap(blocks[i], blocks[dice.below(static_cast<std::uint32_t>(blocks.size()))]);
                    if (dice.one_in(10)) std::shuffle(blocks[i].begin(), blocks[i].end(), dice.engine());
                    if (dice.one_in(30)) blocks[i][0].timestamp_ticks ^= 1U << dice.below(30);
                }
                for (const Fragments& block : blocks) {
                    rig.source.give(board, block, dice.one_in(20) ? dice.below(5) : burst);
                    n_given += block.size();
                    ++n_blocks;
                    rig.take_batches = !dice.one_in(4);
                    if (dice.one_in(3)) n_calls += rig.work();
                    if (dice.one_in(10)) rig.clock.advance(config.timeout_ns / 2);
                }
                if (!dice.one_in(5)) rig.source.end(board, burst);
            }
        }
        rig.take_batches = true;
        RC_ASSERT(rig.finish());
        RC_ASSERT(n_calls <= 100 + 4 * (n_given + n_blocks));
        RC_ASSERT(rig.value(BuildCounter::fragments_in) == n_given);
        rig.expect_balance();
        std::uint64_t last = 0;
        for (std::size_t i = 0; i < rig.events.size(); ++i) {  // time never falls inside a burst
            const std::uint64_t key = rig.events[i].event_key;
            if (i > 0 && key >> 32 == last >> 32)
                RC_ASSERT(
                    static_cast<std::int32_t>(static_cast<std::uint32_t>(key) - static_cast<std::uint32_t>(last)) >= 0);
            last = key;
        }
        RC_ASSERT(!testing::Test::HasFailure());
    }));
}

}  // namespace
}  // namespace anello::events::test::merger_property
