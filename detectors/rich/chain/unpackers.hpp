// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "receive/boards/unpacker.hpp"

namespace anello::rich {

/// Of board 0 to 3, whose packets are mgp. Throws ConfigError.
receive::UnpackerMaker mgp_board(std::uint32_t source_id, std::uint32_t board);
/// Of board 0 to 4, whose packets are NA62's mep; 4 are the supercells. Throws ConfigError.
receive::UnpackerMaker mep_board(std::uint32_t source_id, std::uint32_t board);

}  // namespace anello::rich
