// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "core/range_log.hpp"
#include "receive/numbers/sequence_log.hpp"
#include "source/sent_log.hpp"

namespace anello::bindings {

namespace nb = nanobind;

/// [epoch, begin, end, cause] for each range.
inline nb::list lists_of(const RangeLog& log) {
    nb::list ranges;
    for (const RangeLog::Range& range : log.ranges()) {
        nb::list one;
        one.append(range.epoch);
        one.append(range.begin);
        one.append(range.end);
        one.append(range.cause);
        ranges.append(one);
    }
    return ranges;
}

/// In the form that anello.account.identity.SentNumbers reads.
inline nb::dict dict_of(const source::SentLog& log) {
    nb::dict result;
    result["made"] = lists_of(log.made);
    result["withheld"] = lists_of(log.withheld);
    result["not_listed"] = log.made.n_not_listed() + log.withheld.n_not_listed();
    return result;
}

/// In the form that anello.account.identity.ReceivedNumbers reads.
inline nb::dict dict_of(const receive::SequenceLog& log) {
    nb::dict result;
    result["expected"] = lists_of(log.expected);
    result["missing"] = lists_of(log.missing);
    result["not_listed"] = log.expected.n_not_listed() + log.missing.n_not_listed();
    return result;
}

}  // namespace anello::bindings
