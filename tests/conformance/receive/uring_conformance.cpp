// SPDX-License-Identifier: Apache-2.0
#ifdef ANELLO_IO_URING
#include "conformance/receive/socket_carrier.hpp"
#include "unit/receive/uring_here.hpp"

namespace anello::receive::conformance {
namespace {

template <bool gro>
struct UringCarrier : SocketCarrier<UringBackend, gro> {
    using SocketCarrier<UringBackend, gro>::SocketCarrier;
    static std::string reason_to_skip() { return test::no_uring_because(); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Uring, BackendConformance, UringCarrier<false>);
INSTANTIATE_TYPED_TEST_SUITE_P(UringWithGro, BackendConformance, UringCarrier<true>);

}  // namespace
}  // namespace anello::receive::conformance
#endif
