// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "receive/boards/unpacker.hpp"

namespace anello::rich {

/// Makes the unpacker for mgp packets of board 0 to 3. Throws ConfigError.
receive::UnpackerMaker mgp_board(std::uint32_t source_id, std::uint32_t board);
/// Makes the unpacker for NA62's mep packets of board 0 to 4; board 4 has the supercells. Throws ConfigError.
receive::UnpackerMaker mep_board(std::uint32_t source_id, std::uint32_t board);

}  // namespace anello::rich
