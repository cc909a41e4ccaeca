// SPDX-License-Identifier: Apache-2.0
// MFP: any bytes give a verdict; of what is ok every fragment can be read, and it can be written again.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "wire/mfp.hpp"

namespace mfp = anello::wire::mfp;
using anello::wire::Verdict;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

/// Fragments, and checksums that are right, are the same in a packet that is written anew.
void check_rewritten(const mfp::PacketView& view) {
    std::vector<std::byte> again(view.bytes.size());
    mfp::Writer writer(again, view.header);
    mfp::FragmentReader reader(view);
    std::size_t n = 0;
    for (std::span<const std::byte> fragment; reader.next(fragment); ++n) {
        require(reader.verify() <= Verdict::wrong_checksum);
        const auto place = writer.add(static_cast<std::uint32_t>(fragment.size()));
        require(place.size() == fragment.size());
        if (!fragment.empty()) std::memcpy(place.data(), fragment.data(), fragment.size());
    }
    require(n == view.header.n_fragments && writer.finish() == view.bytes.size());
    mfp::PacketView read;
    require(mfp::parse(again, read) == Verdict::ok);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A heap block of the exact size shows any read beyond the packet.
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    const std::vector<std::byte> packet(bytes, bytes + size);
    mfp::PacketView view;
    if (mfp::parse(packet, view) == Verdict::ok) check_rewritten(view);
    return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Three mutants of four get a right length and checksum, or few would come past the header.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 4 == 0 || size < mfp::header_bytes) return size;
    const std::span packet(reinterpret_cast<std::byte*>(data), size);
    anello::wire::store_le(packet.data() + 16, static_cast<std::uint32_t>(size));
    const std::size_t end = mfp::tables_end(anello::wire::load_le<std::uint16_t>(packet.data() + 10), data[5]);
    if (end > size) return size;
    anello::wire::store_le(packet.data() + 20, std::uint32_t{0});
    anello::wire::store_le(packet.data() + 20, anello::wire::crc32c(packet.first(end)));
    return size;
}
