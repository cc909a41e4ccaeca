// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

/// Number of seeds and the like that tests try: those of a test of minutes, or all of them if ANELLO_LONG is set.
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
