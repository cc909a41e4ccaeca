// SPDX-License-Identifier: Apache-2.0
#include "km3net/detector.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "core/errors.hpp"
#include "source/random.hpp"

namespace anello::km3net {
namespace {

constexpr double t0_of_all_ns = 479'696;  // typical value of a real calibration
constexpr std::uint64_t t0_stream = 0x7030;

struct Ring {
    double z, first_deg;
    std::array<std::uint32_t, 6> channels;  // of its six PMTs, 60 degrees apart
};

constexpr Ring rings[]{{+0.555, 30, {8, 9, 7, 5, 0, 4}},
                       {+0.295, 0, {6, 10, 11, 1, 2, 3}},
                       {-0.295, 30, {15, 12, 16, 27, 30, 23}},
                       {-0.555, 0, {21, 13, 17, 20, 28, 29}},
                       {-0.850, 30, {19, 14, 18, 26, 24, 25}}};
constexpr std::uint32_t lowest_channel = 22;

std::array<Vec, n_pmts> make_directions() noexcept {
    std::array<Vec, n_pmts> directions{};
    directions[lowest_channel] = {0, 0, -1};
    for (const Ring& ring : rings)
        for (std::uint32_t i = 0; i < ring.channels.size(); ++i) {
            const double azimuth = (ring.first_deg + 60 * i) * std::numbers::pi / 180;
            const double r = std::sqrt(1 - ring.z * ring.z);
            directions[ring.channels[i]] = {r * std::cos(azimuth), r * std::sin(azimuth), ring.z};
        }
    return directions;
}

}  // namespace

const std::array<Vec, n_pmts>& pmt_directions() noexcept {
    static const std::array<Vec, n_pmts> directions = make_directions();
    return directions;
}

double cos_between(std::uint32_t pmt, std::uint32_t other) noexcept {
    return pmt_directions()[pmt].dot(pmt_directions()[other]);
}

std::vector<Dom> make_line(const LineConfig& config) {
    source::Random random(config.seed, t0_stream);
    std::vector<Dom> doms(config.n_doms);
    for (std::uint32_t i = 0; i < config.n_doms; ++i) {
        doms[i].id = config.first_dom_id + i;
        doms[i].position_m = {0, 0, config.first_height_m + i * config.spacing_m};
        for (double& t0_ns : doms[i].t0_ns)
            t0_ns = t0_of_all_ns + random.uniform(-config.t0_spread_ns, config.t0_spread_ns);
    }
    return doms;
}

DomIndex::DomIndex(std::span<const Dom> doms) {
    for (std::uint32_t i = 0; i < doms.size(); ++i) entries_.push_back({doms[i].id, i});
    std::ranges::sort(entries_, {}, &Entry::id);
    const auto twice = std::ranges::adjacent_find(entries_, {}, &Entry::id);
    if (twice != entries_.end())
        throw ConfigError("line", "must not have two DOMs of one id", std::to_string(twice->id), "Correct it.");
}

std::optional<std::uint32_t> DomIndex::find(std::uint32_t dom_id) const noexcept {
    const auto at = std::ranges::lower_bound(entries_, dom_id, {}, &Entry::id);
    if (at == entries_.end() || at->id != dom_id) return std::nullopt;
    return at->index;
}

}  // namespace anello::km3net
