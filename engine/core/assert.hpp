// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>

/// Checks for bugs of this code, never for bad input. It stops debug, sanitizer and fuzz builds and costs nothing in a
/// release build.
#ifdef ANELLO_ASSERTIONS
#define ANELLO_ASSERT(condition)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                                          \
        }                                                                                          \
    } while (false)
#else
#define ANELLO_ASSERT(condition) static_cast<void>(0)
#endif
