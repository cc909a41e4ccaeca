// SPDX-License-Identifier: Apache-2.0
// CLB: any bytes give a verdict; a datagram with the verdict ok is encoded again to the same bytes.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "km3net/wire/clb.hpp"

namespace clb = anello::wire::clb;
using anello::wire::Verdict;

namespace {

void try_header(std::span<const std::byte> datagram, std::size_t n_header_bytes) {
    clb::PacketView packet;
    if (clb::parse(datagram, {}, packet, n_header_bytes) != Verdict::ok) return;
    std::vector<clb::Hit> hits(packet.n_hits());
    clb::unpack(packet, hits.data());
    std::vector<std::byte> again(datagram.size());
    const std::size_t length = clb::write(again, packet.header, hits, n_header_bytes);
    if (length != again.size() || std::memcmp(again.data(), datagram.data(), length) != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span datagram(reinterpret_cast<const std::byte*>(data), size);
    try_header(datagram, clb::header_bytes);
    try_header(datagram, clb::long_header_bytes);
    return 0;
}
