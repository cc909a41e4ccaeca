// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/geometry.hpp"
#include "rich/rings/kernels/circle_fit.kernel.hpp"

/// Likelihood of hits, given rings. Each hit is background or belongs to one of the rings:
///   noise density + sum over rings of (hits of a ring / its circumference) x profile(miss).
/// The prior of a ring's radius is a Student distribution with three degrees of freedom: near its mean it pulls like a
/// Gaussian, and far from it the cost increases only slowly.
namespace anello::rich {

/// Where a photon hits, relative to the centre of the photomultiplier that it hits: the chords of a disc, convolved
/// with the smear. With x the miss in widths (2 rms of it), the density is near h^2, h = 1 / (1 + second x^2 + sixth
/// x^6): within 5 % of its middle for smears of 0.13 to 0.35 of the tube's radius. Its tails fall less steeply than a
/// Gaussian's, so that a hit that is misplaced for other reasons does no harm.
struct ProfileShape {
    float second, sixth;
    float middle;       ///< density in the middle, per width
    float information;  ///< that one hit gives about its ring's position, per width^2
};

template <class L>
ANELLO_LANE ProfileShape shape_of(float smear_share) {
    const float s = smear_share < 0.1f ? 0.1f : smear_share > 0.35f ? 0.35f : smear_share;
    return {2.38f * s - 0.176f, 1.7f - 2.27f * s, 0.61f + 0.32f * s, 1 / (0.19f + 0.12f * s)};
}

template <class L>
struct Profile {
    typename L::F h, slope;  ///< slope: -dh/dx / (h^2 x)

    ANELLO_LANE Profile(const ProfileShape& shape, typename L::F x2) {
        const auto x4 = x2 * x2;
        h = L::rough_rcp(1.0f + (shape.second + shape.sixth * x4) * x2);
        slope = 2 * shape.second + (6 * shape.sixth) * x4;
    }
    ANELLO_LANE typename L::F density() const { return h * h; }  ///< relative to the middle
    /// -d log density / dx.
    ANELLO_LANE typename L::F fall(typename L::F x) const { return 2.0f * x * h * slope; }
};

/// Model of one hit from yield, noise and resolution, in kernel units.
struct MixtureModel {
    ProfileShape shape;
    float width;
    float odds;       ///< x (1 / radius): odds of ring to noise in the middle of the profile
    float ring_cost;  ///< log-likelihood that a ring must add
    float radius_mean, per_radius_sd;
    float radius_hits;  ///< number of hits with the same information as the radius prior
};

/// Area of the noise hits in the fit frame: PMTs on a hexagonal lattice.
inline constexpr float disk_area_mm2 = static_cast<float>(n_pmts / n_disks) * pmt_pitch_mm * pmt_pitch_mm * 0.8660254f;

/// `widening` of the profile lets the first steps of a fit see hits beyond its edges.
template <class L>
ANELLO_LANE MixtureModel model_of(const MultiRingParameters& p, float widening) {
    constexpr float two_pi = 6.2831853f, area = disk_area_mm2 / (unit_mm * unit_mm);
    const float variance_mm2 = p.pmt_radius_mm * p.pmt_radius_mm / 4 + p.smear_mm * p.smear_mm;
    const float width = 2 * __builtin_sqrtf(variance_mm2) / unit_mm * widening;
    const ProfileShape shape = shape_of<L>(p.smear_mm / p.pmt_radius_mm);
    const float per_sd = p.radius_sd_mm > 0 ? unit_mm / p.radius_sd_mm : 0;
    return {shape,
            width,
            p.yield_hits * area * shape.middle / (two_pi * width * p.noise_hits),
            p.yield_hits + p.ring_prior,
            p.radius_mean_mm / unit_mm,
            per_sd,
            width * width * per_sd * per_sd / shape.information};
}

template <class L>
struct Direction {
    typename L::F cosine, sine, distance;

    /// Direction and distance of a hit from a ring's centre.
    ANELLO_LANE Direction(typename L::F u, typename L::F v) {
        const typename L::F d2 = u * u + v * v + 1e-7f, inverse = L::rsqrt(d2);
        cosine = u * inverse;
        sine = v * inverse;
        distance = d2 * inverse;
    }
};

/// Natural logarithm of a normal number > 0, with an error of 1e-5.
template <class L>
ANELLO_LANE typename L::F natural_log(typename L::F x) {
    typename L::F mantissa;
    const auto exponent = L::split(x, mantissa);
    const auto t = mantissa - 1.5f;
    return 0.6931472f * exponent +
           (0.4054568f + t * (0.6666837f + t * (-0.2216332f + t * (0.0982315f + t * (-0.0554593f + t * 0.0304490f)))));
}

/// Log-likelihood that the radius prior costs a ring.
template <class L>
ANELLO_LANE typename L::F surprise_of(const MixtureModel& model, typename L::F r) {
    const auto pull = (r - model.radius_mean) * model.per_radius_sd;
    return 2.0f * natural_log<L>(pull * pull * (1.0f / 3) + 1.0f);
}

/// Log-likelihood that a ring must add.
template <class L>
ANELLO_LANE typename L::F cost_of(const MixtureModel& model, typename L::F r) {
    return surprise_of<L>(model, r) + model.ring_cost;
}

/// The prior in a step of a fit: hits that pull the radius to its mean.
template <class L>
ANELLO_LANE RadiusExpectation<L> expectation_of(const MixtureModel& model, typename L::F r) {
    const auto pull = (r - model.radius_mean) * model.per_radius_sd;
    return {4 * model.radius_hits * L::rcp(pull * pull + 3.0f), model.radius_mean - r};
}

/// One step of a ring towards a higher likelihood, one event per lane. The radius is 0 if the hits near the circle do
/// not determine one.
template <class L>
ANELLO_HD Circles<L> likelier_circle(const LaneHits<L>& hits, const Circles<L>& c, const MixtureModel& model) {
    using F = typename L::F;
    const float per_width = 1 / model.width, stride = model.width / model.shape.information;
    const F height = model.odds * L::rcp(L::max(c.r, L::set(0.1f)));
    GeometricSums<L> sums;
    for (int i = 0; i < hits.n_max; ++i) {
        const Direction<L> to(L::load(hits.u[i]) - c.a, L::load(hits.v[i]) - c.b);
        const F x = (to.distance - c.r) * per_width;
        const Profile<L> profile(model.shape, x * x);
        const auto present = L::less(L::load(hits.z[i]), L::set(far_away));
        const F odds = L::select(present, profile.density() * height, L::set(0));
        sums.add(odds * L::rough_rcp(odds + 1.0f), to.cosine, to.sine, profile.fall(x) * stride);
    }
    const Circles<L> step = step_of<L>(sums, expectation_of<L>(model, c.r));
    return {c.a + step.a, c.b + step.b, L::select(is_spread<L>(sums), c.r + step.r, L::set(0))};
}

}  // namespace anello::rich
