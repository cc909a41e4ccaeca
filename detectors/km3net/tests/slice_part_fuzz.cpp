// SPDX-License-Identifier: Apache-2.0
// Built from: detectors/km3net/farm/unpacker.cpp detectors/km3net/messages/daq_messages.cpp
// Built from: detectors/km3net/slices/calibrated_hits.cpp detectors/km3net/detector.cpp detectors/km3net/wire/daq.cpp
// What a readout unit sends of a slice: the builder joins or leaves out any bytes in an MFP with a correct header, and
// passes on only hits that were in it. Seeds have the times, DOMs and slice that this target expects.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/clock.hpp"
#include "exchange/mfp_packer.hpp"
#include "km3net/farm/unpacker.hpp"
#include "memory/persistent_buffers.hpp"

using namespace anello;

namespace {

using P = exchange::UnpackCounter;
using U = km3net::SliceUnpackCounter;

void require(bool condition) {
    if (!condition) std::abort();
}

/// The MFP is in a heap block of its exact size, so that a sanitizer finds any read beyond it.
std::vector<std::byte> mfp_of(std::span<const std::byte> fragment) {
    std::vector<std::byte> packet(exchange::MfpPackerConfig{}.max_mfp_bytes(fragment.size()));
    wire::mfp::Writer writer(packet, {.flags = wire::mfp::long_fragments, .n_fragments = 1});
    const std::span<std::byte> to = writer.add(static_cast<std::uint32_t>(fragment.size()));
    if (!fragment.empty()) std::memcpy(to.data(), fragment.data(), fragment.size());
    packet.resize(writer.finish());
    packet.shrink_to_fit();
    return packet;
}

/// Reads everything that the trigger reads.
void check(km3net::SliceStore& slices) {
    static km3net::CalibratedHits hits(slices.config().max_hits);
    for (std::uint32_t buffer = 0; slices.try_take(buffer); slices.buffers().give_back(buffer))
        for (std::uint32_t dom = 0; dom < slices.slice(buffer).frames.size(); ++dom) {
            const km3net::Frame& frame = slices.slice(buffer).frames[dom];
            require(frame.n_hits <= slices.config().max_hits);
            require(!frame.is_absent() || frame.n_hits == 0);
            hits.fill(frame, slices.hits(buffer, dom), {});
        }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<km3net::Dom> doms = km3net::make_line({.n_doms = 3});
    static CounterPage page;
    static km3net::SliceStore slices({.n_slices = 4, .max_hits = 50}, 3);
    static km3net::SliceUnpacker unpacker({.n_readouts = 1, .run = 7, .first_slice = 50}, doms, slices,
                                          SystemClock::instance(), page);
    const auto packet = mfp_of({reinterpret_cast<const std::byte*>(data), size});
    const std::array<std::span<const std::byte>, 1> mfps{packet};
    require(unpacker.try_take({.n_events = 1, .mfps = mfps}));
    check(slices);
    std::uint32_t slot = 0;
    require(unpacker.try_give_back(slot));
    const auto counts = exchange::base_of<P>(unpacker.counters());
    require(counts[P::parts_in] == counts[P::parts_joined] + counts[P::parts_malformed] + counts[P::parts_of_other]);
    require(unpacker.counters()[U::slices_out] == counts[P::parts_joined]);
    return 0;
}
