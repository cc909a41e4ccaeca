// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/latency/latency_series.hpp"

namespace anello {
namespace {

using Record = std::tuple<Nanoseconds, std::int64_t, std::uint64_t>;  // when, how late, how often

rc::Gen<std::vector<Record>> records() {
    const Nanoseconds longest_ns = 20 * LatencySeries::first_bin_ns * static_cast<Nanoseconds>(LatencySeries::n_bins);
    return rc::gen::container<std::vector<Record>>(rc::gen::tuple(rc::gen::inRange<Nanoseconds>(0, longest_ns),
                                                                  rc::gen::inRange<std::int64_t>(0, 10'000'000),
                                                                  rc::gen::inRange<std::uint64_t>(1, 1000)));
}

/// Whatever was recorded, in whatever order, and however often bins were merged: each bin has what was in its time.
RC_GTEST_PROP(LatencySeries, BinsHoldWhatWasRecordedInTheirTime, ()) {
    const auto all = *rc::gen::nonEmpty(records());
    LatencySeries series;
    for (const auto& [at_ns, value_ns, times] : all) series.record(at_ns, value_ns, times);
    std::map<Nanoseconds, LatencySeries::Bin> expected;
    RC_ASSERT(series.begin_ns() % series.bin_ns() == 0);
    for (const auto& [at_ns, value_ns, times] : all) {
        const auto value = static_cast<std::uint64_t>(value_ns);
        auto& bin = expected[std::max<Nanoseconds>(at_ns - series.begin_ns(), 0) / series.bin_ns()];
        bin = {bin.count + times, bin.sum_ns + value * times, std::max(bin.max_ns, value),
               bin.n_late + (value > 1'000'000 ? times : 0)};
    }
    RC_ASSERT(series.n_used() == static_cast<std::size_t>(expected.rbegin()->first) + 1);
    for (const auto& [index, bin] : expected) {
        const LatencySeries::Bin got = series.bin(static_cast<std::size_t>(index));
        RC_ASSERT(got.count == bin.count);
        RC_ASSERT(got.sum_ns == bin.sum_ns);
        RC_ASSERT(got.max_ns == bin.max_ns);
        RC_ASSERT(got.n_late == bin.n_late);
    }
}

}  // namespace
}  // namespace anello
