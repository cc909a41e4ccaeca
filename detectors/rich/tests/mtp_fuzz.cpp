// SPDX-License-Identifier: Apache-2.0
// MTP: any bytes give a verdict; a packet that is ok is encoded again to the same bytes, without timestamp words.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "rich/wire/mtp.hpp"

namespace mtp = anello::wire::mtp;
using anello::wire::KnownSources;
using anello::wire::Verdict;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

KnownSources every_source() {
    KnownSources known;
    for (int source = 0; source < 256; ++source) known.expect(static_cast<std::uint8_t>(source), 256);
    return known;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const KnownSources known = every_source();
    const std::span datagram(reinterpret_cast<const std::byte*>(data), size);
    mtp::PacketView packet;
    if (mtp::parse(datagram, known, packet) != Verdict::ok) return 0;
    std::vector<std::byte> again(mtp::full_packet_bytes);
    mtp::PacketWriter writer(again, packet.header.source_id, packet.header.sub_source_id);
    writer.begin(packet.header.frame);
    mtp::PrimitiveReader reader(packet);
    mtp::Primitive primitive{};
    while (reader.next(primitive)) require(writer.add(primitive) == mtp::AddResult::ok);
    require(writer.n_primitives() == packet.header.n_primitives);
    const std::size_t n_bytes = writer.finish();
    require(n_bytes <= size && (n_bytes < size || std::memcmp(again.data(), data, size) == 0));
    return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Gives three of four mutants a correct length; otherwise few would pass the header's check.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 4 == 0 || size < mtp::header_bytes) return size;
    const auto length = static_cast<std::uint16_t>(size);
    std::memcpy(data + 4, &length, sizeof length);
    return size;
}
