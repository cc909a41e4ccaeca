// SPDX-License-Identifier: Apache-2.0
#ifdef ANELLO_IO_URING
#include "conformance/receive/socket_carrier.hpp"
#include "unit/receive/uring_here.hpp"

namespace anello::receive::conformance {
namespace {

template <bool gro, bool ip6 = false>
struct UringCarrier : SocketCarrier<UringBackend, gro, ip6> {
    using Sockets = SocketCarrier<UringBackend, gro, ip6>;
    using Sockets::Sockets;
    static std::string reason_to_skip() {
        const std::string reason = test::no_uring_because();
        return reason.empty() ? Sockets::reason_to_skip() : reason;
    }
};
using UringOverIp6 = UringCarrier<true, true>;

INSTANTIATE_TYPED_TEST_SUITE_P(Uring, BackendConformance, UringCarrier<false>);
INSTANTIATE_TYPED_TEST_SUITE_P(UringWithGro, BackendConformance, UringCarrier<true>);
INSTANTIATE_TYPED_TEST_SUITE_P(UringOverIp6, BackendConformance, UringOverIp6);

}  // namespace
}  // namespace anello::receive::conformance
#endif
