// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The sampling pattern, as 16-bit fractions. It is fixed, so that the same event gives the same rings on every
/// machine.
namespace anello::rich {

inline constexpr int max_groups = 4;
inline constexpr int max_rows = 4;  ///< rows of sixteen hits
inline constexpr std::uint32_t pattern_triplets = 64;

struct alignas(64) TripletPattern {
    std::uint32_t spread[max_rows][max_rows][16];  ///< [rows - 1][row][lane]: fraction of the hits
    std::uint32_t partner[pattern_triplets][2];    ///< second and third hit: fraction of the way around
    float rank[64];                                ///< 0, 1, 2, ...
};

constexpr std::uint32_t scramble(std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/// Each row is spread evenly over the hits, and the rows together have all of them. Partners are pseudo-random, at
/// least an eighth of the way around from the anchor and from each other.
constexpr TripletPattern make_triplet_pattern() {
    TripletPattern pattern{};
    for (std::uint32_t rows = 1; rows <= max_rows; ++rows)
        for (std::uint32_t row = 0; row < rows; ++row)
            for (std::uint32_t lane = 0; lane < 16; ++lane)
                pattern.spread[rows - 1][row][lane] = (2 * (lane * rows + row) + 1) * 2048 / rows;
    constexpr std::uint32_t least = 8192;
    std::uint32_t seed = 1;
    for (std::uint32_t k = 0; k < pattern_triplets;) {
        const std::uint32_t second = scramble(seed) >> 16, third = scramble(seed + 1) >> 16;
        seed += 2;
        const std::uint32_t apart = second > third ? second - third : third - second;
        pattern.partner[k][0] = second;
        pattern.partner[k][1] = third;
        const auto far = [](std::uint32_t way) { return way >= least && way <= 65536 - least; };
        k += far(second) && far(third) && far(apart);
    }
    for (int k = 0; k < 64; ++k) pattern.rank[k] = static_cast<float>(k);
    return pattern;
}

#if defined(__CUDACC__)
static __device__ const TripletPattern triplet_pattern = make_triplet_pattern();
#else
inline constexpr TripletPattern triplet_pattern = make_triplet_pattern();
#endif

}  // namespace anello::rich
