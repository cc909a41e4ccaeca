// SPDX-License-Identifier: Apache-2.0
// What a search of chains tells, whatever the detector.
#include "simulate/virtual_chains.hpp"

#include <gmock/gmock.h>

#include "core/errors.hpp"

namespace anello::simulate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Chains where an odd seed loses an event if datagrams are lost and the process stops.
class Chains final : public VirtualChains {
  public:
    ChainRun run(std::uint64_t seed, Changes changes, std::size_t) const override {
        const auto has = [&](const char* one) { return std::ranges::find(changes, one) != changes.end(); };
        ChainRun run;
        run.n_events = 10;
        run.n_decided = 10;
        run.troubles = {"some are lost", "it stops"};
        run.digest = seed + 100 * changes.size();
        if (has("cut_ns=0")) run.digest -= 100;  // it changes nothing
        if (seed % 2 == 0 || has("loss=0") || has("stop_ns=0")) return run;
        run.n_decided = 9;
        run.findings = {"event " + std::to_string(changes.size()) + " came, and was not decided"};
        return run;
    }
    ChainBooks books(std::uint64_t, Changes) const override { return {}; }
    std::vector<std::string> smaller() const override { return {"loss=0", "jitter_ns=0", "cut_ns=0", "stop_ns=0"}; }
};

TEST(VirtualChains, ASearchSumsAndNamesWhatIsNotExplained) {
    const ChainTotals totals = search(Chains(), 4, 5, {});
    EXPECT_EQ(totals.n_runs, 5U);
    EXPECT_EQ(totals.n_troubles, 10U);
    EXPECT_EQ(totals.n_events, 50U);
    EXPECT_EQ(totals.n_decided, 48U);
    EXPECT_THAT(totals.failed, ElementsAre(5U, 7U));
}

TEST(VirtualChains, WhatASeedDoesNotNeedIsLeftOut) {
    EXPECT_THAT(reduce(Chains(), 5, {}), ElementsAre("jitter_ns=0")) << "and not what was not there";
    EXPECT_THAT(reduce(Chains(), 4, {}), IsEmpty());
}

TEST(VirtualChains, KindsThatAreNotWantedAreTakenAway) {
    std::vector<std::string> all;
    for (const TroubleKind& kind : trouble_kinds) all.emplace_back(kind.name);
    EXPECT_THAT(only(all), IsEmpty());
    EXPECT_EQ(only({}).size(), trouble_kinds.size());
    EXPECT_EQ(only({"loss", "stop"}).size(), trouble_kinds.size() - 2);
    EXPECT_THROW(only({"war"}), ConfigError);
}

struct Scenario {
    ChainTroubles troubles;
};

/// Each kind of trouble can be taken away, and is then listed no longer.
TEST(VirtualChains, WhatIsTakenAwayIsNotToldAnyMore) {
    const auto known = assignables(&Scenario::troubles);
    bool was_any = false;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Scenario scenario;
        source::Random dice(seed, 1);
        draw(scenario.troubles, {.n_boards = 4}, dice);
        draw(scenario.troubles.boards, 4, 40, seed);
        was_any |= !told(scenario.troubles).empty();
        for (const std::string& one : only({})) assign(scenario, known, one);
        EXPECT_THAT(told(scenario.troubles), IsEmpty()) << seed;
    }
    EXPECT_TRUE(was_any);
}

}  // namespace
}  // namespace anello::simulate
