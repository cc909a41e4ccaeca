// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/words.hpp"

namespace anello {

/// How far a run is, as its process says in its counter page.
enum class RunState : std::uint8_t { none, configured, ready, running, draining, ended, failed, count };
template <>
inline constexpr std::array<const char*, 7> words_of<RunState>{"",         "configured", "ready", "running",
                                                               "draining", "ended",      "failed"};

/// What a process says of itself in its counter page, besides its number and when it began.
struct PageIdentity {
    PageIdentity(std::string page_name = {}) : name(std::move(page_name)) {}  // NOLINT: a page may have no more

    std::string name;              ///< for shm_open, such as "/anello.node"; empty: private memory
    std::uint64_t run_number = 0;  ///< of the catalogue; 0: in none
    std::string run_name{}, chain{};
    std::string config_digest{};  ///< SHA-256, hexadecimal
};

}  // namespace anello
