// SPDX-License-Identifier: Apache-2.0
#include "exchange/protocol.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"

namespace anello::exchange {
namespace {
constexpr std::array<const char*, 3> protocol_names{"push", "pull", "shift"};
}

Protocol parse_protocol(const std::string& text) {
    const auto* found = std::find(protocol_names.begin(), protocol_names.end(), text);
    if (found == protocol_names.end())
        throw ConfigError("exchange.protocol", "must be push, pull or shift", text, "Choose one of these");
    return static_cast<Protocol>(found - protocol_names.begin());
}

const char* name_of(Protocol protocol) noexcept {
    return protocol_names.at(static_cast<std::size_t>(protocol));
}

}  // namespace anello::exchange
