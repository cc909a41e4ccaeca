// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "core/keys.hpp"
#include "rich/rings/ring_finder.hpp"

namespace anello::rich::ring_finder_property {
namespace {

using anello::Isa;

/// Bit patterns taken as floats (NaN, infinities, denormals, giants), mixed with plausible coordinates.
rc::Gen<float> any_coordinate() {
    return rc::gen::oneOf(
        rc::gen::map(rc::gen::arbitrary<std::uint32_t>(), [](auto bits) { return std::bit_cast<float>(bits); }),
        rc::gen::map(rc::gen::inRange(-400, 401), [](int mm) { return static_cast<float>(mm); }));
}

void assert_in_acceptance(const EventRings& event) {
    RC_ASSERT(event.n_rings <= max_rings_per_event);
    for (int k = 0; k < event.n_rings; ++k) {
        RC_ASSERT(std::hypot(event.ring[k].x_mm, event.ring[k].y_mm) < 450.1f);
        RC_ASSERT(event.ring[k].radius_mm > 87.9f && event.ring[k].radius_mm < 208.1f);
    }
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
        for (const auto& event : out) assert_in_acceptance(event);
    });
    EXPECT_TRUE(held);
}

/// Draws every number of a table from its allowed values, small ones as often as large ones.
template <class Config>
void set_anything(const anello::Keys<Config>& table, std::mt19937_64& random, Config& config) {
    for (const auto& key : table.keys) {
        const anello::KeyValue was = key.get(config);
        const double least = std::max(key.limits.least, 1e-3), most = std::min(key.limits.most, 1e3);
        const double value = least * std::pow(most / least, std::uniform_real_distribution<double>(0, 1)(random));
        if (std::holds_alternative<std::int64_t>(was))
            key.set(config, std::clamp(static_cast<std::int64_t>(value), static_cast<std::int64_t>(key.limits.least),
                                       static_cast<std::int64_t>(most)));
        else if (std::holds_alternative<double>(was))
            key.set(config, value);
    }
}

/// Adds hits on circles, on a line, in one place and anywhere.
void add_hits(std::mt19937_64& random, std::vector<float>& x, std::vector<float>& y) {
    std::uniform_real_distribution<float> anywhere_mm(-400, 400), angle(0, 6.2831853f);
    const auto kind = random() % 5;
    for (auto n = random() % 90; n > 0; --n) {
        const float phi = angle(random), radius_mm = random() % 2 == 0 ? 120 : 180, at_mm = anywhere_mm(random);
        x.push_back(kind == 0   ? at_mm
                    : kind == 1 ? 10
                    : kind == 2 ? at_mm
                                : radius_mm * std::cos(phi) + (kind == 3 ? 0 : 40) * static_cast<float>(random() % 3));
        y.push_back(kind == 0 ? anywhere_mm(random) : kind == 1 ? 20 : kind == 2 ? at_mm : radius_mm * std::sin(phi));
    }
}

TEST(RingFinderProperty, any_parameters_give_rings_in_the_acceptance) {
    const bool held = rc::check("any parameters of multiring and single", [] {
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        RingFinderConfig config;
        set_anything(multiring_keys, random, config.multiring);
        set_anything(single_keys, random, config.single);
        config.isa = *rc::gen::element(Isa::scalar, Isa::sse42, Isa::avx2, Isa::avx512);
        RC_PRE(is_available(config.isa));
        std::vector<float> x, y;
        std::vector<std::uint32_t> offset{0};
        while (offset.size() < 20) {
            add_hits(random, x, y);
            offset.push_back(static_cast<std::uint32_t>(x.size()));
        }
        std::vector<EventRings> out(offset.size() - 1);
        RingFinder(config).find({static_cast<std::uint32_t>(out.size()), offset.data(), x.data(), y.data()},
                                out.data());
        for (const auto& event : out) assert_in_acceptance(event);
    });
    EXPECT_TRUE(held);
}

}  // namespace
}  // namespace anello::rich::ring_finder_property
