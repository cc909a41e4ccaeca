// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/errors.hpp"
#include "receive/datagrams/uring_backend.hpp"

namespace anello::receive::test {

/// Why io_uring cannot be used here (an old kernel, a container that forbids it); empty where it can.
inline std::string no_uring_because() {
    try {
        UringBackend({.address = "127.0.0.1", .ports = {0}});
    } catch (const SystemError& error) {
        return error.what();
    }
    return {};
}

}  // namespace anello::receive::test
