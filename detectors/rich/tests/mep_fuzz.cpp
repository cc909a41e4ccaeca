// SPDX-License-Identifier: Apache-2.0
// MEP with TEL62 payload: any bytes give a verdict. A packet with the verdict ok is encoded again to the same bytes,
// and the hits of an ok payload are the same after encoding and decoding.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "rich/wire/mep.hpp"
#include "rich/wire/tel62.hpp"

namespace mep = anello::wire::mep;
namespace tel62 = anello::wire::tel62;
using anello::wire::KnownSources;
using anello::wire::Verdict;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

KnownSources every_source() {
    KnownSources known;
    for (int source = 0; source < 256; ++source) known.expect(static_cast<std::uint8_t>(source), 128);
    return known;
}

bool near(const tel62::Hit& hit, std::uint32_t event_ticks) {
    const std::uint32_t distance = static_cast<std::uint32_t>(hit.time_fine >> 8) - event_ticks + 0x800;
    return distance < 0x1000;
}

/// Encodes and decodes only hits close to their event, because encoding needs this.
void check_hits(std::vector<tel62::Hit> hits, std::uint8_t board, std::uint32_t event_ticks) {
    if (!std::all_of(hits.begin(), hits.end(), [&](const tel62::Hit& hit) { return near(hit, event_ticks); })) return;
    std::vector<std::byte> payload(4 * (1 + 4 + 2 * hits.size()));
    const std::size_t n_bytes = tel62::encode(payload, {.board = board}, hits);
    if (n_bytes == 0) return;  // more than 255 frames
    payload.resize(n_bytes);
    std::vector<tel62::Hit> again(hits.size());
    tel62::Decoded decoded;
    require(tel62::decode(payload, board, event_ticks, tel62::Edges::both, again, decoded) == Verdict::ok);
    require(decoded.n_hits == hits.size() && again == hits);
}

void check_payload(const mep::FragmentView& fragment, std::uint8_t board) {
    const std::vector<std::byte> payload(fragment.payload.begin(), fragment.payload.end());
    std::vector<tel62::Hit> hits(payload.size() / 4);
    tel62::Decoded decoded, leading;
    const auto ticks = fragment.timestamp_ticks;
    const Verdict verdict = tel62::decode(payload, board, ticks, tel62::Edges::both, hits, decoded);
    if (verdict != Verdict::ok) return;
    hits.resize(decoded.n_hits);
    std::vector<tel62::Hit> leading_hits(decoded.n_hits);
    require(tel62::decode(payload, board, ticks, tel62::Edges::leading_only, leading_hits, leading) == Verdict::ok);
    const auto is_leading = [](const tel62::Hit& hit) { return hit.edge == tel62::Edge::leading; };
    require(leading.n_hits == std::count_if(hits.begin(), hits.end(), is_leading));
    check_hits(hits, board, ticks);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const KnownSources known = every_source();
    const std::span datagram(reinterpret_cast<const std::byte*>(data), size);
    mep::PacketView packet;
    if (mep::parse(datagram, known, packet) != Verdict::ok) return 0;
    const mep::Header& header = packet.header;
    std::vector<std::byte> again(size), masked(datagram.begin(), datagram.end());
    mep::PacketWriter writer(again, header.source_id, header.sub_source_id, header.first_event_number);
    mep::FragmentReader reader(packet);
    mep::FragmentView fragment{};
    while (reader.next(fragment)) {
        masked[static_cast<std::size_t>(fragment.payload.data() - datagram.data()) - 5] &= std::byte{0x80};  // reserved
        require(writer.add(fragment.payload, fragment.timestamp_ticks, fragment.last_of_burst));
        check_payload(fragment, header.sub_source_id);
    }
    require(writer.finish() == size && again == masked);
    return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Gives three of four mutants a correct length; otherwise few would pass the header's check.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 4 == 0 || size < mep::header_bytes || size > mep::max_packet_bytes) return size;
    const auto length = static_cast<std::uint16_t>(size);
    std::memcpy(data + 4, &length, sizeof length);
    return size;
}
