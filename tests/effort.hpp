// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

/// How much tests try of what has no end: what a change must pass in minutes, or all of it where ANELLO_LONG is set.
namespace anello::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

inline bool is_long() {
    return std::getenv("ANELLO_LONG") != nullptr;
}

/// A quarter of `n`, or a tenth under a sanitizer; all of `n` in a long run.
template <typename Number>
Number some_of(Number n) {
    return is_long() ? n : n / (is_sanitized ? 10 : 4);
}

}  // namespace anello::test
