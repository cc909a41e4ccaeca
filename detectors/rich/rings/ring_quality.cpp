// SPDX-License-Identifier: Apache-2.0
#include "rich/rings/ring_quality.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rich/rings/kernels/mixture.kernel.hpp"
#include "rich/rings/lanes/lanes_scalar.hpp"

namespace anello::rich {
namespace {

using Lanes = ScalarLanes;

/// A hit's odds of each ring to noise, and its direction from each centre.
struct HitOdds {
    std::array<double, max_rings_per_event> odds, cosine, sine;
    double total = 1;  ///< sum of the odds of all rings, and 1 for noise
    int ring = -1;     ///< the most likely; -1: noise
};

HitOdds odds_of(float x_mm, float y_mm, const EventRings& found, const MixtureModel& model) noexcept {
    HitOdds hit;
    double most = 1;
    for (int k = 0; k < found.n_rings; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const Ring& ring = found.ring[k];
        const double u = double{x_mm} - double{ring.x_mm}, v = double{y_mm} - double{ring.y_mm};
        const double distance_mm = std::sqrt(u * u + v * v), scale = 1 / std::max(distance_mm, 1e-6);
        const double miss = (distance_mm - double{ring.radius_mm}) / double{unit_mm * model.width};
        const Profile<Lanes> profile(model.shape, static_cast<float>(miss * miss));
        hit.odds[at] = double{profile.density()} * double{model.odds} / std::max(double{ring.radius_mm / unit_mm}, 0.1);
        hit.cosine[at] = u * scale;
        hit.sine[at] = v * scale;
        hit.total += hit.odds[at];
        if (hit.odds[at] > most) {
            most = hit.odds[at];
            hit.ring = k;
        }
    }
    return hit;
}

/// Sums over hits of share x direction x direction^T, direction = (cosine, sine, 1), and of the ring's log-likelihood.
struct RingSums {
    double s = 0, c = 0, q = 0, cc = 0, cq = 0, qq = 0, gain = 0;
    std::uint16_t n_assigned = 0;

    void add(const HitOdds& hit, int k) noexcept {
        const auto at = static_cast<std::size_t>(k);
        const double w = hit.odds[at] / hit.total, cosine = hit.cosine[at], sine = hit.sine[at];
        s += w;
        c += w * cosine;
        q += w * sine;
        cc += w * cosine * cosine;
        cq += w * cosine * sine;
        qq += w * sine * sine;
        gain -= std::log1p(-w);  // total / (total - odds)
        n_assigned = static_cast<std::uint16_t>(n_assigned + (hit.ring == k ? 1 : 0));
    }
};

std::array<float, 9> covariance_of(const RingSums& m, double hit_variance_mm2) noexcept {
    const double xx = m.qq * m.s - m.q * m.q, xy = m.q * m.c - m.cq * m.s, xr = m.cq * m.q - m.qq * m.c;
    const double yy = m.cc * m.s - m.c * m.c, yr = m.cq * m.c - m.cc * m.q, rr = m.cc * m.qq - m.cq * m.cq;
    const double determinant = m.cc * xx + m.cq * xy + m.c * xr;
    // Limit relative to a full ring, s^3 / 4; below it the directions are on a line.
    if (!(m.s > 2.5 && determinant > 1e-6 * m.s * m.s * m.s)) {
        constexpr float unknown = std::numeric_limits<float>::infinity();
        return {unknown, 0, 0, 0, unknown, 0, 0, 0, unknown};
    }
    const auto of = [&](double cofactor) { return static_cast<float>(cofactor * hit_variance_mm2 / determinant); };
    return {of(xx), of(xy), of(xr), of(xy), of(yy), of(yr), of(xr), of(yr), of(rr)};
}

}  // namespace

RingQuality unknown_quality() noexcept {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    RingQuality unknown{.n_assigned = 0, .log_likelihood_ratio = nan, .covariance_mm2 = {}};
    unknown.covariance_mm2.fill(nan);
    return unknown;
}

void judge_rings(const RingFinderConfig& config, const HitsView& hits, std::uint32_t event, const EventRings& found,
                 RingQuality* quality, std::int8_t* hit_ring) noexcept {
    const HitSpan span = span_of<Lanes>(hits, event);
    if (hit_ring != nullptr && (span.flags & bad_offsets) == 0)
        std::fill_n(hit_ring, hits.hit_offset[event + 1] - hits.hit_offset[event], std::int8_t{-1});
    const MixtureModel model = model_of<Lanes>(config.multiring, 1);
    std::array<RingSums, max_rings_per_event> sums{};
    for (int i = 0; i < span.n; ++i) {
        if (!is_usable<Lanes>(span.x_mm[i], span.y_mm[i])) continue;
        const HitOdds hit = odds_of(span.x_mm[i], span.y_mm[i], found, model);
        for (int k = 0; k < found.n_rings; ++k) sums[static_cast<std::size_t>(k)].add(hit, k);
        if (hit_ring != nullptr) hit_ring[i] = static_cast<std::int8_t>(hit.ring);
    }
    const double width_mm = double{model.width * unit_mm};
    const double hit_variance_mm2 = width_mm * width_mm / double{model.shape.information};
    for (std::size_t k = 0; k < found.n_rings; ++k)
        quality[k] = {sums[k].n_assigned, static_cast<float>(sums[k].gain - double{config.multiring.yield_hits}),
                      covariance_of(sums[k], hit_variance_mm2)};
}

}  // namespace anello::rich
