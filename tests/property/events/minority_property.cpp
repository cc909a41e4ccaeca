// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <random>

#include "unit/events/merger_rig.hpp"

/// Random faults in fewer than half of the boards: every event outside of their windows is built bit for bit as without
/// them, and of the events inside all that the other boards sent.
namespace anello::events::test::minority_property {
namespace {

using Fragments = std::vector<TestFragment>;
constexpr std::uint32_t n_rounds = 30, events_per_round = 5, hits_of_board = 1000;

enum class Fault : std::uint8_t {
    silence,
    far_block,
    far_among_own,
    wrong_burst,
    wrong_end,
    repeated,
    shuffled,
    garbage_instead,
    ends_early,
    count
};

class Dice {
  public:
    explicit Dice(std::uint32_t seed) : engine_(seed) {}
    std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(engine_); }
    std::mt19937& engine() { return engine_; }

  private:
    std::mt19937 engine_;
};

/// The fragments that each board should send in a round.
Fragments block_of(std::uint32_t board, std::uint32_t round) {
    Fragments block;
    for (std::uint32_t i = 0; i < events_per_round; ++i) {
        const std::uint32_t event = round * events_per_round + i;
        TestFragment fragment{1000 + 37 * event, static_cast<std::uint8_t>(event)};
        for (std::uint32_t hit = 0; hit < (event * 7 + board) % 5; ++hit)
            fragment.hit_id.push_back(static_cast<std::uint16_t>(board * hits_of_board + hit));
        block.push_back(fragment);
    }
    return block;
}

Fragments far_block(Dice& dice, std::uint32_t board) {
    Fragments block;
    std::uint32_t ticks = 0x10000000 + dice.below(0xc0000000);
    for (std::uint32_t i = 0; i < 1 + dice.below(4); ++i, ticks += dice.below(1000))
        block.push_back({ticks, 0, {static_cast<std::uint16_t>(board * hits_of_board + 999)}});
    return block;
}

/// One round of a faulty board. True: it has sent its end, and all that it sends later in this burst is its window.
bool give_faulty(Dice& dice, MergerRig& rig, std::uint32_t board, std::uint32_t round, Fault fault) {
    Fragments own = block_of(board, round);
    switch (fault) {
        case Fault::silence:
            return false;
        case Fault::far_block:
            rig.source.give(board, far_block(dice, board));
            break;
        case Fault::far_among_own: {
            const Fragments far = far_block(dice, board);
            own.insert(own.begin() + dice.below(events_per_round + 1), far.begin(), far.end());
            break;
        }
        case Fault::wrong_burst:
            rig.source.give(board, far_block(dice, board), 2 + dice.below(1000));
            break;
        case Fault::wrong_end:
            rig.source.end(board, 2 + dice.below(1000));
            break;
        case Fault::repeated:
            rig.source.give(board, own);
            break;
        case Fault::shuffled:
            std::shuffle(own.begin(), own.end(), dice.engine());
            break;
        case Fault::garbage_instead:
            own = far_block(dice, board);
            break;
        case Fault::ends_early:
            rig.source.end(board);
            break;
        case Fault::count:
            break;
    }
    rig.source.give(board, own);
    return fault == Fault::ends_early;
}

std::vector<std::uint16_t> hits_of_good(const TestEvent& event, std::uint32_t n_bad) {
    std::vector<std::uint16_t> hits;
    for (const std::uint16_t hit : event.hit_id)
        if (hit / hits_of_board >= n_bad) hits.push_back(hit);
    return hits;
}

void end_burst(MergerRig& rig) {
    for (std::uint32_t board = 0; board < rig.config.n_boards; ++board) rig.source.end(board);
    rig.work();
    RC_ASSERT(rig.finish());
    rig.expect_balance();
}

std::vector<TestEvent> without_faults(const MergerConfig& config) {
    MergerRig rig(config, 32);
    for (std::uint32_t round = 0; round < n_rounds; ++round) {
        for (std::uint32_t board = 0; board < config.n_boards; ++board) rig.source.give(board, block_of(board, round));
        rig.work();
    }
    end_burst(rig);
    return rig.events;
}

TEST(MinorityProperty, FaultsOfAFewBoardsTouchNothingOfTheOthers) {
    EXPECT_TRUE(rc::check([](std::uint32_t seed) {
        Dice dice(seed);
        MergerConfig config;
        config.n_boards = 3 + dice.below(5);
        config.blocks_per_board = 3 + dice.below(14);
        const std::uint32_t n_bad = 1 + dice.below((config.n_boards - 1) / 2);
        MergerRig rig(config, 32);
        std::vector<bool> in_window(n_rounds, false), gone(n_bad, false);
        for (std::uint32_t round = 0; round < n_rounds; ++round) {
            for (std::uint32_t board = 0; board < config.n_boards; ++board) {
                const bool is_faulty = board < n_bad && (gone[board] || dice.below(4) == 0);
                const auto fault = static_cast<Fault>(dice.below(static_cast<std::uint32_t>(Fault::count)));
                if (is_faulty && give_faulty(dice, rig, board, round, fault)) gone[board] = true;
                if (!is_faulty) rig.source.give(board, block_of(board, round));
                in_window[round] = in_window[round] || is_faulty;
                if (dice.below(3) == 0) rig.work();
            }
            rig.work();
            // The merger no longer waits for a board that stays silent: that is the end of its window.
            for (int i = 0; in_window[round] && i < 4; ++i) {
                rig.pass(config.timeout_ns);
                rig.work();
            }
        }
        end_burst(rig);
        std::map<std::uint64_t, TestEvent> built;
        for (const TestEvent& event : rig.events)
            if (!hits_of_good(event, n_bad).empty() || event.missing_boards < (1U << config.n_boards) - (1U << n_bad))
                built.emplace(event.event_key, event);
        const std::vector<TestEvent> wanted = without_faults(config);
        RC_ASSERT(wanted.size() == n_rounds * events_per_round);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            RC_ASSERT(built.count(wanted[i].event_key) == 1U);
            const TestEvent& event = built.at(wanted[i].event_key);
            RC_ASSERT(hits_of_good(event, n_bad) == hits_of_good(wanted[i], n_bad));
            RC_ASSERT((event.missing_boards >> n_bad) == 0U);
            if (in_window[i / events_per_round]) continue;
            RC_ASSERT(event.missing_boards == 0U);
            RC_ASSERT(event.hit_id == wanted[i].hit_id);
            RC_ASSERT(event.hit_time_fine == wanted[i].hit_time_fine);
            RC_ASSERT(event.fine_time == wanted[i].fine_time);
        }
        RC_ASSERT(!testing::Test::HasFailure());
    }));
}

}  // namespace
}  // namespace anello::events::test::minority_property
