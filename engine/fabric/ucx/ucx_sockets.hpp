// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace anello::fabric {

/// One end of a TCP connection over IPv4, both numbers in the order of the network.
struct SocketName {
    std::uint32_t ipv4 = 0;
    std::uint16_t port = 0;
    std::uint16_t zero = 0;
    bool operator==(const SocketName&) const = default;
};
static_assert(sizeof(SocketName) == 8);

/// UCX does not say which sockets it opened, so they are found among the process's descriptors. Why they are needed:
/// UCX 1.13 that closes a TCP connection uses memory that it has freed when bytes of its own still wait for a full
/// socket and the peer closes too. A connection that is lost closes cleanly. So before UCX closes one, we break it.
namespace ucx_sockets {

/// Both ends of a connection over IPv4; zeros for anything else.
SocketName here(int descriptor) noexcept;
SocketName there(int descriptor) noexcept;
bool contains(std::span<const SocketName> names, const SocketName& name) noexcept;
/// The kernel keeps connections to these, to give them out when they have said something; processes that we start do
/// not inherit them.
void keep_silent_out(std::span<const SocketName> our_listening) noexcept;
/// All sockets of this process that listen.
std::vector<SocketName> listening();
/// Those of `after` that are not in `before`.
std::vector<SocketName> added(std::span<const SocketName> before, std::span<const SocketName> after);
/// Our ends of connections to any of `remote`.
std::vector<SocketName> connected_to(std::span<const SocketName> remote);
/// Breaks the connections whose end here is one of `our_ends`, and those that came to `our_listening` from
/// `their_ends`. Returns how many.
unsigned break_between(std::span<const SocketName> our_listening, std::span<const SocketName> our_ends,
                       std::span<const SocketName> their_ends) noexcept;

}  // namespace ucx_sockets
}  // namespace anello::fabric
