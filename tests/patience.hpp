// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

#include "core/clock.hpp"

/// How long tests wait in real time. No verdict depends on how busy the machine is; where a deadline is what is tested,
/// the clock is the test's own.
namespace anello::test {

/// For what must come: waited for to the end only where it never does.
inline constexpr std::chrono::seconds patience{60};
inline constexpr Nanoseconds patience_ns = std::chrono::nanoseconds(patience).count();
inline constexpr int patience_ms = std::chrono::milliseconds(patience).count();  ///< as poll() takes it
/// For a deadline that what is tested has, and that is not to pass: longer than a machine stands still.
inline constexpr Nanoseconds far_off_ns = 10'000'000'000;

/// Asks until it holds; false: it never did.
template <typename Condition, typename Between = void (*)() noexcept>
bool comes_true(Condition holds, Between between = std::this_thread::yield) {
    for (const auto limit = std::chrono::steady_clock::now() + patience; !holds(); between())
        if (std::chrono::steady_clock::now() > limit) return false;
    return true;
}

}  // namespace anello::test
