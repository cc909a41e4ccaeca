// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace anello::source {

/// mgp: Anello's multi-event packet. mep: NA62's own, with the payload of TEL62 boards.
enum class Format : std::uint8_t { mgp, mep };
Format parse_format(const std::string& text);  ///< Throws ConfigError.

}  // namespace anello::source
