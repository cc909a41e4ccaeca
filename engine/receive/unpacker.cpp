// SPDX-License-Identifier: Apache-2.0
#include "receive/unpacker.hpp"

#include "core/errors.hpp"
#include "receive/unpack_clb.hpp"
#include "receive/unpack_mep.hpp"
#include "receive/unpack_mgp.hpp"

namespace anello::receive {
namespace {

std::uint32_t largest_source_id(Format format) noexcept {
    switch (format) {
        case Format::mgp:
            return 0xffff;
        case Format::mep:
            return 0xff;
        case Format::clb:
            break;
    }
    return 0xffffffff;
}

void validate(const UnpackerConfig& config) {
    const std::uint32_t largest_id = largest_source_id(config.format);
    if (config.source_id > largest_id)
        throw ConfigError("source_id", "must be at most " + std::to_string(largest_id),
                          std::to_string(config.source_id), "Its field on the wire is no wider.");
    const std::uint32_t largest_board = config.format == Format::mep ? MepUnpacker::supercell_board : 3;
    if (config.board > largest_board)
        throw ConfigError("board", "must be at most " + std::to_string(largest_board), std::to_string(config.board),
                          "The RICH has boards 0 to 3, in mep also 4, the supercells.");
}

}  // namespace

Format parse_format(const std::string& text) {
    if (text == "mgp") return Format::mgp;
    if (text == "mep") return Format::mep;
    if (text == "clb") return Format::clb;
    throw ConfigError("format", "must be mgp, mep or clb", text, "Use the format that the sources send.");
}

const char* name_of(Format format) noexcept {
    switch (format) {
        case Format::mgp:
            return "mgp";
        case Format::mep:
            return "mep";
        case Format::clb:
            break;
    }
    return "clb";
}

std::unique_ptr<Unpacker> make_unpacker(const UnpackerConfig& config) {
    validate(config);
    switch (config.format) {
        case Format::mgp:
            return std::make_unique<MgpUnpacker>(config);
        case Format::mep:
            return std::make_unique<MepUnpacker>(config);
        case Format::clb:
            break;
    }
    return std::make_unique<ClbUnpacker>(config);
}

}  // namespace anello::receive
