// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace anello::stream {

/// How one side of a stream waits for the other. spin: takes a whole core, lowest latency. spin_then_sleep: spins for
/// some microseconds, then blocks. block: blocks immediately.
enum class WaitMode : std::uint8_t { spin, spin_then_sleep, block };

WaitMode parse_wait_mode(const std::string& text);  ///< Throws ConfigError.
const char* name_of(WaitMode mode) noexcept;

}  // namespace anello::stream
