// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "memory/persistent_buffers.hpp"
#include "rich/rings/ring_finder_cuda.hpp"
#include "rich/tests/ring_conformance.hpp"

namespace conformance {

/// Two finders give the same rings if they get an event in different parts of a batch, and with hits in the finder's
/// own room, in other memory, or in the middle of other page-locked memory.
inline void expect_parts_agree(const anello::rich::RingFinderConfig& config, std::uint32_t n_events) {
    using namespace anello::rich;
    const auto sample = sample_of(2, 7009, static_cast<int>(n_events));
    const HitsView hits = view_of(sample);
    std::vector<EventRings> wanted(n_events), from_anywhere(n_events), from_room(n_events), from_pinned(n_events);
    CudaRingFinder small(config, 256, 256 * max_hits_per_event);
    CudaRingFinder large(config, n_events, n_events * max_hits_per_event);
    ASSERT_TRUE(small.find(hits, wanted.data()));
    ASSERT_TRUE(large.find(hits, from_anywhere.data()));
    const auto room = large.room();
    std::copy_n(hits.hit_offset, n_events + 1, room.hit_offset);
    std::copy_n(hits.x_mm, sample.x_mm.size(), room.x_mm);
    std::copy_n(hits.y_mm, sample.y_mm.size(), room.y_mm);
    ASSERT_TRUE(large.find({n_events, room.hit_offset, room.x_mm, room.y_mm}, from_room.data()));
    const std::size_t n_hits = sample.x_mm.size();
    anello::memory::PersistentBuffers pinned({.n_buffers = 3,
                                              .buffer_bytes = (n_hits + n_events + 1) * sizeof(float),
                                              .kind = anello::memory::Kind::pinned});
    ASSERT_EQ(pinned.kind(), anello::memory::Kind::pinned);
    auto* const offset = reinterpret_cast<std::uint32_t*>(pinned.bytes(0).data());
    auto* const x_mm = reinterpret_cast<float*>(pinned.bytes(1).data());
    auto* const y_mm = reinterpret_cast<float*>(pinned.bytes(2).data());
    std::copy_n(hits.hit_offset, n_events + 1, offset);
    std::copy_n(hits.x_mm, n_hits, x_mm);
    std::copy_n(hits.y_mm, n_hits, y_mm);
    const std::uint32_t middle = n_events / 4;
    ASSERT_TRUE(large.find({middle, offset, x_mm, y_mm}, from_pinned.data()));
    ASSERT_TRUE(large.find({n_events - middle, offset + middle, x_mm, y_mm}, from_pinned.data() + middle));
    for (std::size_t e = 0; e < n_events; ++e) {
        ASSERT_EQ(values_of(from_pinned[e]), values_of(wanted[e])) << "event " << e;
        ASSERT_EQ(values_of(from_anywhere[e]), values_of(wanted[e])) << "event " << e;
        ASSERT_EQ(values_of(from_room[e]), values_of(wanted[e])) << "event " << e;
    }
}

}  // namespace conformance
