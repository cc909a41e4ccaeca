// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/words.hpp"

namespace anello::rich {

/// mgp: Anello's multi-event packet. mep: NA62's own packet, with the payload of TEL62 boards.
enum class Format : std::uint8_t { mgp, mep };

}  // namespace anello::rich

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<rich::Format>{"mgp", "mep"};

}  // namespace anello
