// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <vector>

#include "rich/rings/ring_finder.hpp"

namespace {

using namespace anello::rich;
using anello::Isa;

/// Bit patterns taken as floats (NaN, infinities, denormals, giants), mixed with plausible coordinates.
rc::Gen<float> any_coordinate() {
    return rc::gen::oneOf(
        rc::gen::map(rc::gen::arbitrary<std::uint32_t>(), [](auto bits) { return std::bit_cast<float>(bits); }),
        rc::gen::map(rc::gen::inRange(-400, 401), [](int mm) { return static_cast<float>(mm); }));
}

TEST(RingFinderProperty, garbage_in_rings_or_nothing_out) {
    const bool held = rc::check("any bits as coordinates", [] {
        const auto n = *rc::gen::inRange<std::size_t>(0, 200);
        const auto x = *rc::gen::container<std::vector<float>>(n, any_coordinate());
        const auto y = *rc::gen::container<std::vector<float>>(n, any_coordinate());
        const auto middle = *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(n) + 1);
        const std::uint32_t offset[] = {0, middle, static_cast<std::uint32_t>(n)};
        RingFinderConfig config;
        config.algorithm = static_cast<Algorithm>(*rc::gen::inRange(0, 7));
        config.isa = *rc::gen::element(Isa::scalar, Isa::sse42, Isa::avx2, Isa::avx512);
        RC_PRE(is_available(config.isa));
        EventRings out[2];
        RingFinder(config).find({2, offset, x.data(), y.data()}, out);
        for (const auto& event : out) {
            RC_ASSERT(event.n_rings <= max_rings_per_event);
            for (int k = 0; k < event.n_rings; ++k) {
                RC_ASSERT(std::hypot(event.ring[k].x_mm, event.ring[k].y_mm) < 450.1f);
                RC_ASSERT(event.ring[k].radius_mm > 87.9f && event.ring[k].radius_mm < 208.1f);
            }
        }
    });
    EXPECT_TRUE(held);
}

}  // namespace
