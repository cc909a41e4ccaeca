// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/unpackers.hpp"

#include <string>

#include "core/errors.hpp"
#include "receive/boards/mgp_unpacker.hpp"
#include "rich/wire/mep_unpacker.hpp"
#include "rich/wire/rich_channels.hpp"

namespace anello::rich {
namespace {

void check(std::uint32_t source_id, std::uint32_t largest_id, std::uint32_t board, std::uint32_t largest_board) {
    if (source_id > largest_id)
        throw ConfigError("source_id", "must be at most " + std::to_string(largest_id), std::to_string(source_id),
                          "Its field on the wire is no wider.");
    if (board > largest_board)
        throw ConfigError("board", "must be at most " + std::to_string(largest_board), std::to_string(board),
                          "The RICH has boards 0 to 3, in mep also 4, the supercells.");
}

}  // namespace

receive::UnpackerMaker mgp_board(std::uint32_t source_id, std::uint32_t board) {
    check(source_id, 0xffff, board, wire::rich::n_boards - 1);
    constexpr std::uint32_t n_channels = wire::rich::n_pmts_per_board;
    const receive::MgpBoard config{.source_id = static_cast<std::uint16_t>(source_id),
                                   .first_hit_id = static_cast<std::uint16_t>(board * n_channels),
                                   .n_channels = n_channels};
    return [config] { return std::make_unique<receive::MgpUnpacker>(config); };
}

receive::UnpackerMaker mep_board(std::uint32_t source_id, std::uint32_t board) {
    check(source_id, 0xff, board, MepUnpacker::supercell_board);
    return [id = static_cast<std::uint8_t>(source_id), of = static_cast<std::uint8_t>(board)] {
        return std::make_unique<MepUnpacker>(id, of);
    };
}

}  // namespace anello::rich
