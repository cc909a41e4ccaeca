// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace anello::receive {

/// A network interface of this process's network namespace, as the system describes it.
struct NetworkInterface {
    std::string name;
    std::uint32_t index;
    std::uint32_t mtu_bytes;
    bool is_loopback;
    std::uint32_t n_receive_queues;  ///< 1 if the driver does not report it
};

/// Throws ConfigError that names the key.
NetworkInterface find_interface(const std::string& name, const char* key = "receive.interface");

}  // namespace anello::receive
