// SPDX-License-Identifier: Apache-2.0
#include "receive/unpacker.hpp"

#include "core/errors.hpp"
#include "receive/unpack_mgp.hpp"

namespace anello::receive {

Format parse_format(const std::string& text) {
    if (text == "mgp") return Format::mgp;
    if (text == "mep") return Format::mep;
    if (text == "clb") return Format::clb;
    throw ConfigError("receive.format", "must be mgp, mep or clb", text, "Use the format that the sources send.");
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
    if (config.format == Format::mgp) return std::make_unique<MgpUnpacker>(config);
    throw ConfigError("receive.format", "must be mgp", name_of(config.format), "This build reads no other format.");
}

}  // namespace anello::receive
