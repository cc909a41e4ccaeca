// SPDX-License-Identifier: Apache-2.0
#include "stream/ring/wait_mode.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"

namespace anello::stream {
namespace {
constexpr std::array<const char*, 3> wait_mode_names{"spin", "spin_then_sleep", "block"};
}

WaitMode parse_wait_mode(const std::string& text) {
    const auto* found = std::find(wait_mode_names.begin(), wait_mode_names.end(), text);
    if (found == wait_mode_names.end())
        throw ConfigError("wait", "must be spin, spin_then_sleep or block", text, "Choose one of these");
    return static_cast<WaitMode>(found - wait_mode_names.begin());
}

const char* name_of(WaitMode mode) noexcept {
    return wait_mode_names.at(static_cast<std::size_t>(mode));
}

}  // namespace anello::stream
