// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/counters/counters.hpp"
#include "receive/numbers/sequence_log.hpp"
#include "simulate/chain_troubles.hpp"
#include "simulate/trace_line.hpp"
#include "source/sent_log.hpp"

namespace anello::simulate {

struct ChainRun {
    std::string scenario;                         ///< description
    std::vector<std::string> troubles, findings;  ///< findings: what does not hold; none: all is explained
    std::vector<std::string> lanes;               ///< of the trace
    std::uint64_t n_events = 0, n_decided = 0, digest = 0;
    Nanoseconds virtual_ns = 0;
    std::vector<TraceLine> trace;
};

/// The input of its ledger.
struct ChainBooks {
    bool has_ended = false;  ///< the run has ended, for the node
    std::vector<CounterPage::Sample> node, source;
    std::vector<source::SentLog> made;       ///< by board
    std::vector<receive::SequenceLog> came;  ///< by board
    std::vector<RangeLog> unused{};          ///< by board, for chains that note why they did not use a number
};

/// Sums over many seeds.
struct ChainTotals {
    std::uint64_t n_runs = 0, n_troubles = 0, n_events = 0, n_decided = 0, digest = 0;
    Nanoseconds virtual_ns = 0;
    std::vector<std::uint64_t> failed;  ///< seeds
};

using Changes = std::span<const std::string>;

/// The chains of a detector in virtual time: one for each seed.
class VirtualChains {
  public:
    virtual ~VirtualChains() = default;
    /// changes: assignments (assignments.hpp), applied after all was drawn. max_messages: the trace keeps so many, the
    /// last ones; 0: no trace. Throws ConfigError.
    virtual ChainRun run(std::uint64_t seed, Changes changes, std::size_t max_messages) const = 0;
    virtual ChainBooks books(std::uint64_t seed, Changes changes) const = 0;  ///< Throws ConfigError.
    /// Assignments that each leave something out, to be tried one after another.
    virtual std::vector<std::string> smaller() const = 0;
};

ChainTotals search(const VirtualChains& chains, std::uint64_t first, std::uint64_t n_seeds, Changes changes);
/// Returns the assignments that leave out as much of this seed's chain as possible, while the first finding stays of
/// the same kind.
std::vector<std::string> reduce(const VirtualChains& chains, std::uint64_t seed, Changes changes);
/// Removes all kinds of trouble but these. Throws ConfigError.
std::vector<std::string> only(const std::vector<std::string>& kinds);

/// Names of the lanes of a trace: the boards, and `last`.
std::vector<std::string> lane_names(std::uint32_t n_boards, std::string last);

/// What can be assigned of a Scenario: its layout of threads, which `check` refuses by a ConfigError, its own
/// quantities, and its troubles.
template <typename Scenario>
std::vector<Assignable<Scenario>> chain_assignables(void (*check)(const std::vector<std::string>& layout),
                                                    std::vector<Assignable<Scenario>> own) {
    std::vector<Assignable<Scenario>> all{
        {"layout", [check](Scenario& scenario, std::string_view, std::string_view text) {
             scenario.layout = parts_of(text);
             check(scenario.layout);
         }}};
    std::ranges::move(own, std::back_inserter(all));
    std::ranges::move(assignables(&Scenario::troubles), std::back_inserter(all));
    return all;
}

/// The events of a chain; each detector event ends in one lane.
class ChainTrace {
  public:
    /// Includes the troubles that have a time. end: the lane after those of the boards.
    ChainTrace(const ChainTroubles& troubles, std::uint16_t end, std::size_t max_messages);
    /// Adds a fragment, from its arrival until its event ended, in times of the world.
    void add_message(Nanoseconds from_ns, Nanoseconds to_ns, std::uint16_t board, const std::string& event);
    /// absent: the missing boards.
    void add_built(Nanoseconds at_ns, std::string event, std::span<const std::uint16_t> absent);
    std::vector<TraceLine> lines();  ///< Sorted by time.

  private:
    const std::uint16_t end_;
    const std::size_t max_messages_;
    std::vector<TraceLine> lines_, messages_;
};

/// Chains of type Chain with a Scenario (which has `troubles`). Chain provides drawn(seed), assignables(), smaller(),
/// events(), n_decided(), lanes(), trace(max_messages), books(), describe(scenario) and judge(chain, scenario).
template <typename Chain>
class ChainsOf final : public VirtualChains {
  public:
    ChainRun run(std::uint64_t seed, Changes changes, std::size_t max_messages) const override {
        const typename Chain::Scenario scenario = changed(seed, changes);
        Chain chain(scenario);
        chain.run();
        ChainRun run{.scenario = describe(scenario),
                     .troubles = told(scenario.troubles),
                     .findings = judge(chain, scenario),
                     .lanes = Chain::lanes(),
                     .n_events = chain.events().size(),
                     .n_decided = chain.n_decided(),
                     .digest = chain.world().digest(),
                     .virtual_ns = chain.world().monotonic_ns() - World::begin_ns,
                     .trace = {}};
        if (max_messages > 0) run.trace = chain.trace(max_messages);
        return run;
    }
    ChainBooks books(std::uint64_t seed, Changes changes) const override {
        Chain chain(changed(seed, changes));
        chain.run();
        return chain.books();
    }
    std::vector<std::string> smaller() const override {
        std::vector<std::string> all;
        for (const TroubleKind& kind : trouble_kinds) all.emplace_back(kind.without);
        for (const char* one : Chain::smaller) all.emplace_back(one);
        return all;
    }

  private:
    static typename Chain::Scenario changed(std::uint64_t seed, Changes changes) {
        typename Chain::Scenario scenario = Chain::drawn(seed);
        for (const std::string& change : changes) assign(scenario, Chain::assignables(), change);
        return scenario;
    }
};

}  // namespace anello::simulate
