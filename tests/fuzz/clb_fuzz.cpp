// SPDX-License-Identifier: Apache-2.0
// CLB: any bytes give a verdict; what is ok is written again to the same bytes.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "wire/clb.hpp"

namespace clb = anello::wire::clb;
using anello::wire::Verdict;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span datagram(reinterpret_cast<const std::byte*>(data), size);
    clb::PacketView packet;
    if (clb::parse(datagram, {}, packet) != Verdict::ok) return 0;
    std::vector<clb::Hit> hits(packet.n_hits());
    clb::unpack(packet, hits.data());
    std::vector<std::byte> again(size);
    const std::size_t length = clb::write(again, packet.header, hits);
    if (length != size || std::memcmp(again.data(), data, size) != 0) std::abort();
    return 0;
}
