// SPDX-License-Identifier: Apache-2.0
#include "core/clock.hpp"

#include <time.h>

namespace anello {
namespace {

Nanoseconds read_clock(clockid_t id) noexcept {
    timespec now{};
    clock_gettime(id, &now);
    return static_cast<Nanoseconds>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Nanoseconds SystemClock::monotonic_ns() const noexcept {
    return read_clock(CLOCK_MONOTONIC);
}
Nanoseconds SystemClock::wall_ns() const noexcept {
    return read_clock(CLOCK_REALTIME);
}

const SystemClock& SystemClock::instance() noexcept {
    static const SystemClock clock;
    return clock;
}

}  // namespace anello
