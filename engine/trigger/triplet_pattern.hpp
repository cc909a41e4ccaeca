// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The fixed sampling pattern: which hits make a triplet, as 16-bit fractions of the number of hits. Fixed, so that the
/// same event gives the same rings on every machine.
namespace anello::trigger {

inline constexpr int max_groups = 4;
inline constexpr std::uint32_t pattern_rows = 64;

struct alignas(64) TripletPattern {
    std::uint32_t anchor[max_groups][16];
    std::uint32_t second[pattern_rows][16], third[pattern_rows][16];
    float rank[64];  ///< 0, 1, 2, ...
};

constexpr std::uint32_t scramble(std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/// Anchors are spread evenly, each group shifted by a quarter of a lane; partners are pseudo-random.
constexpr TripletPattern make_triplet_pattern() {
    TripletPattern pattern{};
    for (std::uint32_t group = 0; group < max_groups; ++group)
        for (std::uint32_t lane = 0; lane < 16; ++lane) {
            constexpr std::uint32_t quarter[max_groups] = {0, 2048, 1024, 3072};
            pattern.anchor[group][lane] = lane * 4096 + quarter[group] + 512;
        }
    std::uint32_t seed = 1;
    for (std::uint32_t row = 0; row < pattern_rows; ++row)
        for (std::uint32_t lane = 0; lane < 16; ++lane) {
            pattern.second[row][lane] = scramble(seed++) >> 16;
            pattern.third[row][lane] = scramble(seed++) >> 16;
        }
    for (int k = 0; k < 64; ++k) pattern.rank[k] = static_cast<float>(k);
    return pattern;
}

#if defined(__CUDACC__)
static __device__ const TripletPattern triplet_pattern = make_triplet_pattern();
#else
inline constexpr TripletPattern triplet_pattern = make_triplet_pattern();
#endif

}  // namespace anello::trigger
