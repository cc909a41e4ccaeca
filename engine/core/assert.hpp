// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>

/// A bug of ours, not of an input: stops debug, sanitizer and fuzz builds, costs nothing in a release.
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
