// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/words.hpp"

namespace anello {

/// The state of a run as its process reports it in its counter page.
enum class RunState : std::uint8_t { none, configured, ready, running, draining, ended, failed, count };
template <>
inline constexpr std::array<const char*, 7> words_of<RunState>{"",         "configured", "ready", "running",
                                                               "draining", "ended",      "failed"};

/// How a process identifies itself in its counter page, besides its process number and start time.
struct PageIdentity {
    PageIdentity(std::string page_name = {}) : name(std::move(page_name)) {}  // NOLINT: a page may have a name only

    std::string name;              ///< for shm_open, such as "/anello.node"; empty: private memory
    std::uint64_t run_number = 0;  ///< in the catalogue; 0: the run is not in it
    std::string run_name{}, chain{};
    std::string config_digest{};  ///< SHA-256, hexadecimal
};

}  // namespace anello
