// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "core/counters/counters.hpp"

namespace anello::bindings {

namespace nb = nanobind;

template <typename Member>
nb::dict by_block(const std::vector<CounterPage::Sample>& samples, Member member) {
    nb::dict blocks;
    for (const auto& sample : samples) {
        if (!blocks.contains(sample.block.c_str())) blocks[sample.block.c_str()] = nb::dict();
        nb::cast<nb::dict>(blocks[sample.block.c_str()])[sample.name.c_str()] = sample.*member;
    }
    return blocks;
}

/// block -> name -> value
inline nb::dict values_of(const std::vector<CounterPage::Sample>& samples) {
    return by_block(samples, &CounterPage::Sample::value);
}
/// The same for this process's own page. The call also shows that the control thread is alive.
inline nb::dict kept_values_of(CounterPage& page) {
    page.beat(SystemClock::instance().wall_ns());
    return values_of(page.read());
}
/// Sets the state of the run, a word of RunState. Throws ConfigError.
inline void set_state(CounterPage& page, const std::string& word) {
    page.set_state(parse_word<RunState>(word, "state"));
    page.beat(SystemClock::instance().wall_ns());
}
/// block -> name -> exact definition
inline nb::dict meanings_of(const std::vector<CounterPage::Sample>& samples) {
    return by_block(samples, &CounterPage::Sample::meaning);
}

}  // namespace anello::bindings
