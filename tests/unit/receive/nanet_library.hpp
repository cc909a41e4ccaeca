// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace anello::receive::test {

/// The card's model, where it has been compiled.
inline std::string nanet_library() {
    return ANELLO_SOURCE_DIR "/build/nanet/libanello_nanet.so";
}

inline std::string reason_without_nanet() {
    if (std::filesystem::exists(nanet_library())) return {};
    return nanet_library() + " is not there: `anello nanet library` makes it";
}

}  // namespace anello::receive::test
