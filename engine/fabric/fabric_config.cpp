// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric_config.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"

namespace anello::fabric {
namespace {
constexpr std::array<const char*, 4> transport_names{"ucx", "tcp", "udp", "in_process"};
}

Transport parse_transport(const std::string& text) {
    const auto* found = std::find(transport_names.begin(), transport_names.end(), text);
    if (found == transport_names.end())
        throw ConfigError("fabric.transport", "must be ucx, tcp, udp or in_process", text, "Choose one of these");
    return static_cast<Transport>(found - transport_names.begin());
}

const char* name_of(Transport transport) noexcept {
    return transport_names.at(static_cast<std::size_t>(transport));
}

}  // namespace anello::fabric
