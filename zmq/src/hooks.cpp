// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <new>
#include <string>

#include "anello_hooks.hpp"
#include "message_pool.hpp"
#include "ring_engine.hpp"
#include "settings.hpp"

namespace anello::zeromq {
namespace {

constexpr std::string_view ring_scheme = "ring://";
constexpr std::string_view ipc_scheme = "ipc://";

bool is_unix_socket(int socket) noexcept {
    sockaddr_storage address{};
    socklen_t n_bytes = sizeof address;
    return getsockname(socket, reinterpret_cast<sockaddr*>(&address), &n_bytes) == 0 && address.ss_family == AF_UNIX;
}

/// The pool of this process. It is never destroyed, as a message may be freed after everything else.
MessagePool& pool() noexcept {
    static auto* const instance = new MessagePool(settings().pool_bytes);
    return *instance;
}

}  // namespace

bool ring_enabled() {
    return settings().ring;
}

zmq::i_engine* new_zmtp_engine(int socket, const zmq::options_t& options, const zmq::endpoint_uri_pair_t& endpoints) {
    if (!ring_enabled() || !is_unix_socket(socket))
        return new (std::nothrow) zmq::zmtp_engine_t(socket, options, endpoints);
    const bool required = endpoints.identifier().starts_with(ring_scheme);
    return new (std::nothrow) RingEngine(socket, options, endpoints, required);
}

std::string as_ring_uri(const std::string& ipc_uri) {
    if (!ipc_uri.starts_with(ipc_scheme)) return ipc_uri;
    return std::string(ring_scheme) + ipc_uri.substr(ipc_scheme.size());
}

void* try_take_memory(size_t header_bytes, size_t data_bytes) {
    if (data_bytes < MessagePool::smallest_bytes || !settings().ring || settings().pool_bytes == 0) return nullptr;
    return pool().try_take(header_bytes, data_bytes);
}

void give_memory_back(void*, void* memory) {
    pool().give_back(memory);
}

}  // namespace anello::zeromq
