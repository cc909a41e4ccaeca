// SPDX-License-Identifier: Apache-2.0
#include "simulate/virtual_chains.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/errors.hpp"
#include "simulate/finding.hpp"

namespace anello::simulate {
ChainTrace::ChainTrace(const ChainTroubles& troubles, std::uint16_t end, std::size_t max_messages)
    : end_(end), max_messages_(max_messages) {
    const auto board = static_cast<std::uint16_t>(troubles.cut_board);
    const auto add_fault = [&](Nanoseconds at_ns, Nanoseconds for_ns, std::uint16_t lane, const char* text) {
        if (for_ns > 0) lines_.push_back({"fault", at_ns, at_ns + for_ns, lane, lane, text});
    };
    add_fault(troubles.stop_at_ns, troubles.stop_ns, end, "the node: its process stands still");
    add_fault(troubles.disk_full_at_ns, troubles.disk_full_ns, end, "the disk: it is full");
    add_fault(troubles.cut_at_ns, troubles.cut_ns, board, "a link: nothing comes through");
    add_fault(troubles.cut_at_ns, troubles.hold_ns, board, "a link: what is sent is held");
}

void ChainTrace::add_message(Nanoseconds from_ns, Nanoseconds to_ns, std::uint16_t board, const std::string& event) {
    messages_.push_back(
        {"message", from_ns - World::begin_ns, to_ns - World::begin_ns, board, end_, "a fragment of " + event});
}

void ChainTrace::add_built(Nanoseconds at_ns, std::string event, std::span<const std::uint16_t> absent) {
    if (!absent.empty()) event += fmt::format(", lacks boards {}", fmt::join(absent, ", "));
    lines_.push_back({"built", at_ns - World::begin_ns, at_ns - World::begin_ns, end_, end_, std::move(event)});
}

std::vector<TraceLine> ChainTrace::lines() {
    std::ranges::stable_sort(messages_, {}, &TraceLine::at_ns);
    const std::size_t n_kept = std::min(messages_.size(), max_messages_);
    std::ranges::move(messages_.end() - static_cast<std::ptrdiff_t>(n_kept), messages_.end(),
                      std::back_inserter(lines_));
    messages_.clear();
    std::ranges::stable_sort(lines_, {}, &TraceLine::at_ns);
    return std::move(lines_);
}

ChainTotals search(const VirtualChains& chains, std::uint64_t first, std::uint64_t n_seeds, Changes changes) {
    ChainTotals totals;
    for (std::uint64_t seed = first; seed != first + n_seeds; ++seed) {
        const ChainRun one = chains.run(seed, changes, 0);
        ++totals.n_runs;
        totals.n_troubles += one.troubles.size();
        totals.n_events += one.n_events;
        totals.n_decided += one.n_decided;
        totals.virtual_ns += one.virtual_ns;
        totals.digest = source::mix64(totals.digest + one.digest);
        if (!one.findings.empty()) totals.failed.push_back(seed);
    }
    return totals;
}

std::vector<std::string> reduce(const VirtualChains& chains, std::uint64_t seed, Changes changes) {
    std::vector<std::string> all(changes.begin(), changes.end());
    const auto has_kind = [](const ChainRun& run, const std::string& kind) {
        return std::ranges::any_of(run.findings, [&](const std::string& one) { return kind_of(one) == kind; });
    };
    const ChainRun whole = chains.run(seed, all, 0);
    if (whole.findings.empty()) return {};
    const std::string kind = kind_of(whole.findings.front());
    std::uint64_t digest = whole.digest;
    for (const std::string& one : chains.smaller()) {
        all.push_back(one);
        const ChainRun less = chains.run(seed, all, 0);
        if (!has_kind(less, kind) || less.digest == digest)
            all.pop_back();  // this part is needed, or was not there
        else
            digest = less.digest;
    }
    return {all.begin() + static_cast<std::ptrdiff_t>(changes.size()), all.end()};
}

std::vector<std::string> only(const std::vector<std::string>& kinds) {
    std::vector<std::string_view> names;
    for (const TroubleKind& kind : trouble_kinds) names.push_back(kind.name);
    for (const std::string& wanted : kinds)
        if (std::ranges::find(names, wanted) == names.end())
            throw ConfigError("--faults", fmt::format("must be all, none, or some of {}", fmt::join(names, ", ")),
                              wanted, "Separate them by commas.");
    std::vector<std::string> without;
    for (const TroubleKind& kind : trouble_kinds)
        if (std::ranges::find(kinds, kind.name) == kinds.end()) without.emplace_back(kind.without);
    return without;
}

std::vector<std::string> lane_names(std::uint32_t n_boards, std::string last) {
    std::vector<std::string> names;
    for (std::uint32_t board = 0; board < n_boards; ++board) names.push_back(fmt::format("board {}", board));
    names.push_back(std::move(last));
    return names;
}

}  // namespace anello::simulate
