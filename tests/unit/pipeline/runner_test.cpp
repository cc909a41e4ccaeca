// SPDX-License-Identifier: Apache-2.0
// Chains of made-up stages: which threads serve them, which wakes which, in what order they end, and their notices.
#include "pipeline/runner.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "core/counters/page_reader.hpp"
#include "core/errors.hpp"

namespace anello::pipeline::runner_test {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

constexpr std::array<std::string_view, 3> names{"first", "second", "third"};

std::vector<ThreadPlan> layout(const std::vector<std::string>& text) {
    return parse_layout(text, {}, names);
}

void wait_for(const std::function<bool()>& condition) {
    while (!condition()) std::this_thread::yield();  // for ever: the test's time-out tells
}

/// A stage that hands numbers on, 1 to n_items, and is drained when all have come to it.
struct Belt {
    static constexpr int n_items = 100;
    std::atomic<int> taken{0};
    const std::atomic<int>* before = nullptr;  ///< null: the first
    std::atomic<bool> draining{false};
    std::atomic<std::thread::id> thread{};
    std::vector<std::string>* log = nullptr;

    std::size_t work() {
        thread = std::this_thread::get_id();
        const bool has_one = before == nullptr ? taken < n_items : taken < *before;
        if (has_one) ++taken;
        return has_one ? 1 : 0;
    }
    Stage stage(const std::string& name) {
        return {.name = name,
                .do_work = [this](std::uint32_t) { return work(); },
                .drain =
                    [this, name] {
                        log->push_back("drain " + name);
                        draining = true;
                    },
                .is_drained = [this] { return taken == n_items; },
                .close = [this, name] { log->push_back("close " + name); }};
    }
};

struct Belts {
    std::vector<std::string> log{};
    Belt belts[3];

    Belts() {
        for (Belt& belt : belts) belt.log = &log;
        belts[1].before = &belts[0].taken;
        belts[2].before = &belts[1].taken;
    }
    std::vector<Stage> stages() { return {belts[0].stage("first"), belts[1].stage("second"), belts[2].stage("third")}; }
};

TEST(Runner, DrainsStageByStageAndEndsEachThreadAfterItsLast) {
    Belts chain;
    Runner runner;
    runner.add({chain.stages(), layout({"first", "second+third"})});
    runner.start();
    runner.stop();
    EXPECT_EQ(chain.belts[2].taken, Belt::n_items);
    EXPECT_NE(chain.belts[0].thread.load(), chain.belts[1].thread.load());
    EXPECT_EQ(chain.belts[1].thread.load(), chain.belts[2].thread.load());
    EXPECT_THAT(chain.log, ElementsAre("drain first", "close first", "drain second", "drain third", "close second",
                                       "close third"));
    EXPECT_TRUE(runner.notices().empty());
}

TEST(Runner, AStageThatSaysNothingHasDrainedWithTheNext) {
    Belts chain;
    std::vector<Stage> stages = chain.stages();
    stages[0].is_drained = stages[1].is_drained = {};
    Runner runner;
    runner.add({std::move(stages), layout({"first", "second", "third"})});
    runner.start();
    runner.stop();
    EXPECT_EQ(chain.belts[2].taken, Belt::n_items);
    EXPECT_THAT(chain.log, ElementsAre("drain first", "drain second", "drain third", "close first", "close second",
                                       "close third"));
}

TEST(Runner, ItsThreadsAndBuffersTellOfThemselvesInThePage) {
    const std::string name = "/anello.test-runner." + std::to_string(getpid());
    CounterPage page(PageIdentity{name});
    Belts chain;
    std::vector<Stage> stages = chain.stages();
    stages[1].add_buffers = [](BufferLevels& levels) { levels["first"] = {.n_buffers = 8, .n_free = 5}; };
    Runner runner;
    runner.tell_in(page);
    runner.add({std::move(stages), layout({"first", "second+third"})});
    runner.start();
    const PageReader reader(name);
    wait_for([&] { return std::ranges::all_of(reader.threads(), [](const auto& one) { return one.told.runs; }); });
    EXPECT_EQ(reader.threads().size(), 2U);
    const Nanoseconds heartbeat_ns = reader.header().heartbeat_ns;
    wait_for([&] { return reader.header().heartbeat_ns > heartbeat_ns; });  // also when there is nothing to do
    runner.keep_page();
    runner.stop();
    for (int again = 0; again < 2; ++again) {
        runner.keep_page();
        ASSERT_EQ(reader.buffers().size(), 1U);
        EXPECT_EQ(reader.buffers()[0].stage, "first");
        EXPECT_EQ(reader.buffers()[0].n_free, 5U);
    }
    for (const PageReader::Thread& thread : reader.threads()) EXPECT_FALSE(thread.told.runs) << thread.name;
    EXPECT_EQ(reader.threads()[0].name, "first");
    EXPECT_EQ(reader.header().heartbeat_ns, reader.header().control_ns) << "no thread is left";
    runner.start();  // the same cells again
    runner.stop();
    EXPECT_EQ(reader.threads().size(), 2U);
}

/// A thread hangs in a step: whatever the others do, the heartbeat stands still.
TEST(Runner, TheHeartbeatIsThatOfItsSlowestThread) {
    const std::string name = "/anello.test-hang." + std::to_string(getpid());
    CounterPage page(PageIdentity{name});
    std::atomic<bool> hangs{false}, may_go_on{false};
    std::vector<Stage> stages{{.name = "first",
                               .do_work =
                                   [&](std::uint32_t) {
                                       hangs = true;
                                       wait_for([&] { return may_go_on.load(); });
                                       return std::size_t{0};
                                   }},
                              {.name = "second", .do_work = [](std::uint32_t) { return std::size_t{0}; }}};
    Runner runner;
    runner.tell_in(page);
    runner.add({std::move(stages), layout({"first", "second", "third"})});
    runner.start();
    wait_for([&] { return hangs.load(); });
    const PageReader reader(name);
    wait_for([&] { return std::ranges::all_of(reader.threads(), [](const auto& one) { return one.told.runs; }); });
    const Nanoseconds hung_ns = reader.threads()[0].told.seen_ns, second_ns = reader.threads()[1].told.seen_ns;
    wait_for([&] { return reader.threads()[1].told.seen_ns > second_ns; });
    runner.keep_page();
    EXPECT_EQ(reader.threads()[0].told.seen_ns, hung_ns);
    EXPECT_LT(reader.header().heartbeat_ns, reader.header().control_ns);
    may_go_on = true;
    runner.stop();
}

/// A clock that moves on, by 100 ms, each time it is read.
class EagerClock final : public Clock {
  public:
    Nanoseconds monotonic_ns() const noexcept override { return now_ns_ += 100'000'000; }
    Nanoseconds wall_ns() const noexcept override { return monotonic_ns(); }

  private:
    mutable std::atomic<Nanoseconds> now_ns_{0};
};

TEST(Runner, AsksEachStageForItsStatesAndLatencies) {
    Belts chain;
    std::vector<Stage> stages = chain.stages();
    const LatencyHistogram first, third;
    stages[0].add_latency = [&](Latencies& latency) { latency["first"] = &first; };
    stages[2].add_latency = [&](Latencies& latency) { latency["third"] = &third; };
    stages[1].add_states = [&](States& states) { states["second"] = "well"; };
    Runner runner;
    runner.add({std::move(stages), layout({"first+second+third"})});
    EXPECT_EQ(runner.latency(), (Latencies{{"first", &first}, {"third", &third}}));
    EXPECT_EQ(runner.states(), (States{{"second", "well"}}));
}

TEST(Runner, AStageThatDoesNotDrainIsNamedAndTheOthersEnd) {
    Belts chain;
    std::vector<Stage> stages = chain.stages();
    bool gave_up = false;
    stages[1].is_drained = [] { return false; };
    stages[2].give_up_subscribers = [&] { gave_up = true; };
    const EagerClock clock;
    Runner runner(clock);
    runner.add({std::move(stages), layout({"first+second+third"})});
    runner.start();
    wait_for([&] { return chain.belts[2].taken == Belt::n_items; });
    runner.stop();
    EXPECT_TRUE(gave_up);
    EXPECT_EQ(runner.stuck_stage(), "second");
    EXPECT_THAT(runner.notices(),
                ElementsAre(Field(&Notice::text, HasSubstr("draining took too long at the stage second"))));
    EXPECT_TRUE(runner.notices().empty()) << "reported once";
    EXPECT_EQ(chain.log.back(), "close third");
}

TEST(Runner, SubscribersHaveTheirTimeBeforeTheyAreGivenUp) {
    Belts chain;
    std::vector<Stage> stages = chain.stages();
    const EagerClock clock;
    bool gave_up = false;
    int n_looks = 0;
    stages[1].is_drained = [&] { return ++n_looks > 3; };  // a second of the clock
    stages[2].give_up_subscribers = [&] { gave_up = true; };
    Runner runner(clock);
    runner.add({std::move(stages), layout({"first+second+third"})});
    runner.start();
    wait_for([&] { return chain.belts[2].taken == Belt::n_items; });
    runner.stop();
    EXPECT_FALSE(gave_up);
}

/// The patience of one stage is not taken from the others' limit.
TEST(Runner, AStageWithPatienceLeavesTheOthersTheirTime) {
    Belts chain;
    std::vector<Stage> stages = chain.stages();
    const EagerClock clock;
    const Nanoseconds begin_ns = clock.monotonic_ns();
    stages[0].patience_ns = 60'000'000'000;
    stages[0].is_drained = [&] { return clock.monotonic_ns() > begin_ns + 30'000'000'000; };
    int n_looks = 0;
    stages[1].is_drained = [&] { return ++n_looks > 5; };
    Runner runner(clock);
    runner.add({std::move(stages), layout({"first+second+third"})});
    runner.start();
    wait_for([&] { return chain.belts[2].taken == Belt::n_items; });
    runner.stop();
    EXPECT_EQ(runner.stuck_stage(), "");
}

TEST(Runner, LanesWorkSideBySideAndWakeTheirOwn) {
    constexpr std::uint32_t n_lanes = 3;
    std::array<std::atomic<int>, n_lanes> given{}, taken{};
    std::atomic<int> joined{0};
    std::array<std::atomic<std::thread::id>, n_lanes> threads{};
    const auto work = [&](std::uint32_t lane) -> std::size_t {
        threads[lane] = std::this_thread::get_id();
        if (given[lane] == 50) return 0;
        ++given[lane];
        return 1;
    };
    Runner runner;
    runner.add({{{.name = "first", .n_lanes = n_lanes, .do_work = work},
                 {.name = "second",
                  .n_lanes = n_lanes,
                  .do_work = [&](std::uint32_t lane) -> std::size_t {
                      if (taken[lane] == given[lane]) return 0;
                      ++taken[lane];
                      return 1;
                  },
                  .has_input = [&](std::uint32_t lane) { return taken[lane] < given[lane]; }},
                 {.name = "third",
                  .do_work = [&](std::uint32_t lane) -> std::size_t {
                      EXPECT_EQ(lane, 0U);
                      if (joined == taken[0] + taken[1] + taken[2]) return 0;
                      ++joined;
                      return 1;
                  },
                  .has_input = [&](std::uint32_t lane) { return lane < n_lanes; },
                  .is_drained = [&] { return joined == 50 * static_cast<int>(n_lanes); }}},
                layout({"first", "second", "third"})});
    runner.start();
    runner.stop();
    EXPECT_EQ(runner.stuck_stage(), "");
    EXPECT_EQ((std::set{threads[0].load(), threads[1].load(), threads[2].load()}).size(), n_lanes);
}

/// No item waits between two stages of a thread; the first stage takes more when all items have passed.
TEST(Runner, AThreadCarriesOnWhatItTookInBeforeItTakesInMore) {
    std::vector<std::string> log;
    int n_in = 0, n_made = 0, n_out = 0;
    std::atomic<bool> has_ended{false};
    Runner runner;
    runner.add({{{.name = "first",
                  .do_work = [&](std::uint32_t) -> std::size_t {
                      if (n_in == 6) return has_ended = true, 0;
                      n_in += 3;
                      return log.push_back("in"), 3;
                  }},
                 {.name = "second",
                  .do_work = [&](std::uint32_t) -> std::size_t {
                      if (n_made == n_in) return 0;
                      ++n_made;
                      return log.push_back("made"), 1;
                  }},
                 {.name = "third",
                  .do_work = [&](std::uint32_t) -> std::size_t {
                      if (n_out == n_made) return 0;
                      ++n_out;
                      return log.push_back("out"), 1;
                  }}},
                layout({"first+second+third"})});
    runner.start();
    wait_for([&] { return has_ended.load(); });
    runner.stop();
    EXPECT_THAT(log, ElementsAre("in", "made", "out", "made", "out", "made", "out",  //
                                 "in", "made", "out", "made", "out", "made", "out"));
}

/// A later stage that always has something to do does not keep the first from its turn.
TEST(Runner, AStageThatTakesInByItselfLeavesTheFirstItsTurn) {
    std::atomic<int> n_first{0};
    Runner runner;
    runner.add({{{.name = "first", .do_work = [&](std::uint32_t) -> std::size_t { return ++n_first, 0; }},
                 {.name = "second", .do_work = [](std::uint32_t) -> std::size_t { return 1; }}},
                layout({"first+second", "third"})});
    runner.start();
    wait_for([&] { return n_first > 10; });
    runner.stop();
}

/// A generator is an example: it gets no input, and decides itself when it works.
TEST(Runner, AFirstStageThatKnowsWhenItHasWorkSleepsUntilThen) {
    std::atomic<int> n_asked{0}, n_steps{0};
    Runner runner;
    runner.add({{{.name = "first",
                  .do_work = [](std::uint32_t) -> std::size_t { return 0; },
                  .longest_wait_ns = [&](std::uint32_t) { return ++n_asked, Nanoseconds{3'600'000'000'000}; }},
                 {.name = "second", .do_work = [&](std::uint32_t) -> std::size_t { return ++n_steps, 0; }}},
                layout({"first", "second", "third"})});
    runner.start();
    wait_for([&] { return n_asked > 0 && n_steps > 200; });
    runner.stop();
    EXPECT_LT(n_asked, n_steps / 10) << "it looked again and again";
}

/// One thread spins while others sleep.
TEST(Runner, AThreadMaySpinByItself) {
    std::array<std::atomic<int>, 2> n_asked{};
    std::vector<ThreadPlan> plans = layout({"first", "second", "third"});
    plans[0].spins = true;
    plans[0].cores = {sched_getcpu()};
    const auto idle = [&](std::size_t stage) {
        return Stage{.name = std::string(names[stage]),
                     .do_work = [](std::uint32_t) -> std::size_t { return 0; },
                     .has_input = [](std::uint32_t) { return false; },
                     .longest_wait_ns =
                         [&n_asked, stage](std::uint32_t) { return ++n_asked[stage], Nanoseconds{3'600'000'000'000}; }};
    };
    Runner runner;
    runner.add({{idle(0), idle(1)}, plans});
    runner.start();
    wait_for([&] { return n_asked[0] > 100'000 && n_asked[1] > 0; });
    runner.stop();
    EXPECT_LT(n_asked[1], n_asked[0] / 1000);
}

/// One lane gives to many stages: all of them are woken.
TEST(Runner, AStageWakesAllLanesOfTheNextWhereTheyAreMore) {
    constexpr std::uint32_t n_lanes = 3;
    std::atomic<int> n_given{0};
    std::array<std::atomic<int>, n_lanes> n_taken{};
    Runner runner;
    runner.add(
        {{{.name = "first", .do_work = [&](std::uint32_t) -> std::size_t { return n_given < 50 ? ++n_given, 1 : 0; }},
          {.name = "second",
           .n_lanes = n_lanes,
           .do_work = [&](std::uint32_t lane) -> std::size_t {
               return n_taken[lane] < n_given ? ++n_taken[lane], 1 : 0;
           },
           .has_input = [&](std::uint32_t) { return true; },
           .longest_wait_ns = [](std::uint32_t) { return Nanoseconds{3'600'000'000'000}; },
           .is_drained = [&] { return n_taken[0] == 50 && n_taken[1] == 50 && n_taken[2] == 50; }}},
         layout({"first", "second+third"})});
    runner.start();
    runner.stop();
    EXPECT_EQ(runner.stuck_stage(), "");
}

/// A buffer that it gives back wakes the stage that gave it, and that one wakes the stage after both.
TEST(Runner, AStageAsideWakesTheOneThatItWorksFor) {
    constexpr std::uint32_t n_lanes = 2;
    std::atomic<int> n_given{0}, n_handed_on{0}, n_taken{0};
    std::array<std::atomic<int>, n_lanes> n_done{};
    const auto an_hour = [](std::uint32_t) { return Nanoseconds{3'600'000'000'000}; };
    Runner runner;
    runner.add(
        {{{.name = "first",
           .do_work = [&](std::uint32_t) -> std::size_t {
               if (n_handed_on < std::min(n_done[0].load(), n_done[1].load())) return ++n_handed_on, 1;
               return n_given < 50 && n_given == n_handed_on ? ++n_given, 1 : 0;
           },
           .longest_wait_ns = an_hour},
          {.name = "aside",
           .n_lanes = n_lanes,
           .is_aside = true,
           .do_work = [&](std::uint32_t lane) -> std::size_t { return n_done[lane] < n_given ? ++n_done[lane], 1 : 0; },
           .has_input = [&](std::uint32_t) { return n_done[0] < n_given || n_done[1] < n_given; },
           .has_given_back = [&](std::uint32_t lane) { return n_handed_on < n_done[lane]; },
           .longest_wait_ns = an_hour},
          {.name = "second",
           .do_work = [&](std::uint32_t) -> std::size_t { return n_taken < n_handed_on ? ++n_taken, 1 : 0; },
           .has_input = [&](std::uint32_t) { return n_taken < n_handed_on; },
           .longest_wait_ns = an_hour,
           .is_drained = [&] { return n_taken == 50; }}},
         layout({"first", "second", "third"})});
    runner.start();
    wait_for([&] { return n_taken == 50; });
    runner.stop();
    EXPECT_EQ(runner.stuck_stage(), "");
}

/// A thread waits for two things: data on its descriptor, and items that another thread gives it.
TEST(Runner, AThreadThatSleepsOnADescriptorIsWokenByTheStageBefore) {
    std::array<int, 2> silent{};
    ASSERT_EQ(pipe(silent.data()), 0);
    std::atomic<int> n_given{0}, n_taken{0};
    Runner runner;
    runner.add(
        {{{.name = "first", .do_work = [&](std::uint32_t) -> std::size_t { return n_given < 50 ? ++n_given, 1 : 0; }},
          {.name = "second",
           .do_work = [&](std::uint32_t) -> std::size_t { return n_taken < n_given ? ++n_taken, 1 : 0; },
           .wake_descriptor = [&](std::uint32_t) { return silent[0]; },
           .has_input = [&](std::uint32_t) { return n_taken < n_given; },
           .longest_wait_ns = [](std::uint32_t) { return Nanoseconds{3'600'000'000'000}; },
           .is_drained = [&] { return n_taken == 50; }}},
         layout({"first", "second+third"})});
    runner.start();
    runner.stop();
    EXPECT_EQ(runner.stuck_stage(), "");
    for (const int end : silent) close(end);
}

TEST(Runner, AStageThatSleepsInItsOwnWayIsWokenInItsOwnWay) {
    std::atomic<int> n_given{0}, n_woken{0};
    Runner runner;
    runner.add(
        {{{.name = "first", .do_work = [&](std::uint32_t) -> std::size_t { return n_given < 10 ? ++n_given, 1 : 0; }},
          {.name = "second",
           .do_work = [](std::uint32_t) -> std::size_t { return 0; },
           .has_input = [&](std::uint32_t) { return n_woken < n_given; },
           .wake = [&] { ++n_woken; }}},
         layout({"first", "second", "third"})});
    runner.start();
    wait_for([&] { return n_woken == 10; });
    runner.stop();
}

/// A stage that no plan names has a thread of its own; names in a plan that are no stages are left out.
TEST(Runner, ServesStagesThatTheLayoutDoesNotName) {
    std::atomic<int> n_steps{0};
    Runner runner;
    runner.add({{{.name = "listener", .do_work = [&](std::uint32_t) -> std::size_t { return ++n_steps, 0; }},
                 {.name = "told", .add_states = [](States& states) { states["told"] = "yes"; }}},
                layout({"first+second", "third"})});
    runner.start();
    wait_for([&] { return n_steps > 0; });
    runner.stop();
    EXPECT_EQ(runner.states(), (States{{"told", "yes"}}));
}

TEST(Runner, EachLaneGoesToItsCore) {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core)
        if (CPU_ISSET(core, &allowed)) cores.push_back(core);
    if (cores.size() < 2) GTEST_SKIP() << "there is one core";
    std::array<std::atomic<int>, 2> seen{-1, -1};
    Runner runner;
    runner.add({{{.name = "first",
                  .n_lanes = 2,
                  .do_work = [&](std::uint32_t lane) -> std::size_t { return seen[lane] = sched_getcpu(), 0; }}},
                parse_layout({"first", "second+third"}, {cores[1], -1, cores[0]}, names)});
    runner.start();
    wait_for([&] { return seen[0] == cores[1] && seen[1] == cores[0]; });
    EXPECT_THAT(runner.states()["threads"],
                HasSubstr(fmt::format("first on core {}; first.1 on core {}", cores[1], cores[0])));
    runner.stop();
}

TEST(Runner, LeavesNoThreadWhereOneCannotStart) {
    Belts chain;
    std::vector<ThreadPlan> plans = layout({"first", "second", "third"});
    plans[2].cores = {1 << 20};
    Runner runner;
    runner.add({chain.stages(), plans});
    EXPECT_THROW(runner.start(), ConfigError);
    EXPECT_FALSE(runner.running());
    runner.stop();
    EXPECT_TRUE(chain.log.empty());
}

/// Least time that a thread took for a number of short steps; both stages are its own.
Nanoseconds time_of_small_steps(int n_steps, Nanoseconds rest_of_plan_ns, std::optional<Nanoseconds> rest_of_stage_ns) {
    const Clock& clock = SystemClock::instance();
    std::atomic<int> n_done{0};
    std::vector<ThreadPlan> plans = layout({"first+second", "third"});
    for (ThreadPlan& plan : plans) plan.rest_ns = rest_of_plan_ns;
    std::vector<Stage> stages;
    stages.push_back({.name = "first",
                      .do_work =
                          [&](std::uint32_t) {
                              ++n_done;
                              return std::size_t{1};
                          },
                      .rest_below = 2,
                      .rest_ns = rest_of_stage_ns});
    stages.push_back({.name = "second", .do_work = [](std::uint32_t) { return std::size_t{0}; }});
    stages.push_back({.name = "third", .do_work = [](std::uint32_t) { return std::size_t{0}; }});
    Runner runner(clock);
    runner.add({std::move(stages), std::move(plans)});
    const Nanoseconds begin_ns = clock.monotonic_ns();
    runner.start();
    wait_for([&] { return n_done >= n_steps; });
    const Nanoseconds took_ns = clock.monotonic_ns() - begin_ns;
    runner.stop();
    return took_ns;
}

TEST(Runner, AThreadRestsAsLongAsItsPlanSaysAndStagesThatDoNotRestDoNotShortenIt) {
    constexpr Nanoseconds rest_ns = 20'000'000;
    EXPECT_GE(time_of_small_steps(4, rest_ns, {}), 3 * rest_ns);
    EXPECT_GE(time_of_small_steps(4, 0, rest_ns), 3 * rest_ns) << "a stage that says so itself";
}

}  // namespace
}  // namespace anello::pipeline::runner_test
