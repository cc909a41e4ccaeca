// SPDX-License-Identifier: Apache-2.0
#include "conformance/receive/socket_carrier.hpp"
#include "receive/socket_backend.hpp"

namespace anello::receive::conformance {
namespace {

using Plain = SocketCarrier<SocketBackend, false>;
using WithGro = SocketCarrier<SocketBackend, true>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sockets, BackendConformance, Plain);
INSTANTIATE_TYPED_TEST_SUITE_P(SocketsWithGro, BackendConformance, WithGro);

}  // namespace
}  // namespace anello::receive::conformance
