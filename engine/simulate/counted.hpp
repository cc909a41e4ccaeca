// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/counters/counters.hpp"

namespace anello::simulate {

/// A counter of a page; 0 if there is none of this name.
inline std::uint64_t counted(const CounterPage& page, std::string_view block, std::string_view name) {
    for (const CounterPage::Sample& sample : page.read())
        if (sample.block == block && sample.name == name) return sample.value;
    return 0;
}

}  // namespace anello::simulate
