// SPDX-License-Identifier: Apache-2.0
#include "conformance/receive/socket_carrier.hpp"
#include "receive/datagrams/socket_backend.hpp"

namespace anello::receive::conformance {
namespace {

using Plain = SocketCarrier<SocketBackend, false>;
using WithGro = SocketCarrier<SocketBackend, true>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sockets, BackendConformance, Plain);
INSTANTIATE_TYPED_TEST_SUITE_P(SocketsWithGro, BackendConformance, WithGro);

using OverIp6 = SocketCarrier<SocketBackend, false, true>;
using OverIp6WithGro = SocketCarrier<SocketBackend, true, true>;
INSTANTIATE_TYPED_TEST_SUITE_P(SocketsOverIp6, BackendConformance, OverIp6);
INSTANTIATE_TYPED_TEST_SUITE_P(SocketsOverIp6WithGro, BackendConformance, OverIp6WithGro);

}  // namespace
}  // namespace anello::receive::conformance
