// SPDX-License-Identifier: Apache-2.0
#include "fabric/ucx/ucx_sockets.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace anello::fabric::ucx_sockets {
namespace {

using NameCall = int (*)(int, sockaddr*, socklen_t*);

SocketName name_by(NameCall call, int descriptor) noexcept {
    sockaddr_in name{};
    socklen_t n_bytes = sizeof name;
    if (call(descriptor, reinterpret_cast<sockaddr*>(&name), &n_bytes) != 0 || name.sin_family != AF_INET) return {};
    return {name.sin_addr.s_addr, name.sin_port};
}
int option(int descriptor, int name) noexcept {
    int value = 0;
    socklen_t n_bytes = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &n_bytes) == 0 ? value : -1;
}

/// Calls `visit` for each TCP socket of this process.
template <typename Visit>
void for_each_socket(Visit&& visit) noexcept {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), &closedir);
    if (folder == nullptr) return;
    while (const dirent* entry = readdir(folder.get())) {
        const int descriptor = std::atoi(entry->d_name);
        if (entry->d_name[0] != '.' && option(descriptor, SO_TYPE) == SOCK_STREAM) visit(descriptor);
    }
}

}  // namespace

SocketName here(int descriptor) noexcept {
    return name_by(&getsockname, descriptor);
}
SocketName there(int descriptor) noexcept {
    return name_by(&getpeername, descriptor);
}
bool contains(std::span<const SocketName> names, const SocketName& name) noexcept {
    return name.port != 0 && std::find(names.begin(), names.end(), name) != names.end();
}

void keep_silent_out(std::span<const SocketName> our_listening) noexcept {
    constexpr int for_seconds = 3600;  // the kernel limits it to its own maximum
    if (our_listening.empty()) return;
    for_each_socket([&](int descriptor) {
        if (option(descriptor, SO_ACCEPTCONN) != 1 || !contains(our_listening, here(descriptor))) return;
        setsockopt(descriptor, IPPROTO_TCP, TCP_DEFER_ACCEPT, &for_seconds, sizeof for_seconds);
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    });
}

std::vector<SocketName> listening() {
    std::vector<SocketName> names;
    for_each_socket([&](int descriptor) {
        const SocketName name = here(descriptor);
        if (option(descriptor, SO_ACCEPTCONN) == 1 && name.port != 0) names.push_back(name);
    });
    return names;
}

std::vector<SocketName> added(std::span<const SocketName> before, std::span<const SocketName> after) {
    std::vector<SocketName> names;
    std::copy_if(after.begin(), after.end(), std::back_inserter(names),
                 [&](const SocketName& name) { return !contains(before, name); });
    return names;
}

std::vector<SocketName> connected_to(std::span<const SocketName> remote) {
    std::vector<SocketName> ends;
    if (remote.empty()) return ends;
    for_each_socket([&](int descriptor) {
        if (contains(remote, there(descriptor))) ends.push_back(here(descriptor));
    });
    return ends;
}

unsigned break_between(std::span<const SocketName> our_listening, std::span<const SocketName> our_ends,
                       std::span<const SocketName> their_ends) noexcept {
    unsigned n_broken = 0;
    if (our_listening.empty()) return n_broken;
    for_each_socket([&](int descriptor) {
        const SocketName end = here(descriptor);
        const bool came = contains(our_listening, end) && contains(their_ends, there(descriptor));
        if (came || contains(our_ends, end)) n_broken += shutdown(descriptor, SHUT_RDWR) == 0 ? 1 : 0;
    });
    return n_broken;
}

}  // namespace anello::fabric::ucx_sockets
