// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/counters/counters.hpp"

namespace anello::bindings {

/// The counters of one enum and their blocks. Tests compare ledgers and the reference page with it.
struct CounterTable {
    const char* name;    ///< the enum's name with its namespace
    const char* blocks;  ///< separated by commas, <i> is a number; empty: in no page
    std::span<const CounterLabel> labels;
};

template <CounterEnum Enum>
CounterTable table(const char* name, const char* blocks) {
    return {name, blocks, counter_labels<Enum>};
}

}  // namespace anello::bindings
