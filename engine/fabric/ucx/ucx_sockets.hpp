// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace anello::fabric {

/// One end of a TCP connection over IPv4; both numbers are in network byte order.
struct SocketName {
    std::uint32_t ipv4 = 0;
    std::uint16_t port = 0;
    std::uint16_t zero = 0;
    bool operator==(const SocketName&) const = default;
};
static_assert(sizeof(SocketName) == 8);

/// UCX does not say which sockets it opened, so these functions find them among the process's descriptors. The reason:
/// UCX 1.13 uses freed memory when it closes a TCP connection while bytes of its own wait for a full socket and the
/// peer closes, too. It closes a broken connection cleanly. So we break a connection before UCX closes it.
namespace ucx_sockets {

/// Both ends of a connection over IPv4; zeros for any other descriptor.
SocketName here(int descriptor) noexcept;
SocketName there(int descriptor) noexcept;
bool contains(std::span<const SocketName> names, const SocketName& name) noexcept;
/// The kernel holds back connections to these sockets until they have sent something. Child processes do not inherit
/// the sockets.
void keep_silent_out(std::span<const SocketName> our_listening) noexcept;
/// All listening sockets of this process.
std::vector<SocketName> listening();
/// The names in `after` that are not in `before`.
std::vector<SocketName> added(std::span<const SocketName> before, std::span<const SocketName> after);
/// Our ends of the connections to any of `remote`.
std::vector<SocketName> connected_to(std::span<const SocketName> remote);
/// Breaks the connections whose local end is one of `our_ends`, and those from `their_ends` to `our_listening`. Returns
/// their number.
unsigned break_between(std::span<const SocketName> our_listening, std::span<const SocketName> our_ends,
                       std::span<const SocketName> their_ends) noexcept;

}  // namespace ucx_sockets
}  // namespace anello::fabric
