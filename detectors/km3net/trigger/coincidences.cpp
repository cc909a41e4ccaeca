// SPDX-License-Identifier: Apache-2.0
#include "km3net/trigger/coincidences.hpp"

#include <array>

namespace anello::km3net {
namespace {

using Cosines = std::array<std::array<double, n_pmts>, n_pmts>;

Cosines make_cosines() noexcept {
    Cosines cosines{};
    for (std::uint32_t i = 0; i < n_pmts; ++i)
        for (std::uint32_t k = 0; k < n_pmts; ++k) cosines[i][k] = cos_between(i, k);
    return cosines;
}

const Cosines cosines = make_cosines();

}  // namespace

bool has_near_pair(const Coincidence& found, double cos_min) noexcept {
    const std::uint32_t first = found.hits.front().channel();
    for (const PackedHit hit : found.hits.subspan(1))
        if (hit.channel() != first && cosines[first][hit.channel()] >= cos_min) return true;
    return false;
}

}  // namespace anello::km3net
