// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "core/counters.hpp"

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
/// block -> name -> exact definition
inline nb::dict meanings_of(const std::vector<CounterPage::Sample>& samples) {
    return by_block(samples, &CounterPage::Sample::meaning);
}

}  // namespace anello::bindings
