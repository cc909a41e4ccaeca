// SPDX-License-Identifier: Apache-2.0
#include "km3net/source/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace anello::km3net {
namespace {

using source::Random;

constexpr double common_t0_ns = 479'696;   // calibrated time at which raw time 0 of a slice lies
constexpr std::uint32_t veto_hits = 2000;  // of a channel in a slice: 20 kHz
constexpr double third_share = 0.07, fourth_share = 0.10, fifth_share = 0.12;  // of 40K decays that hit one PMT less

// Cherenkov light of a muon: the emission angle is 42.2 degrees; the group index gives the time of flight.
constexpr double c_m_per_ns = 0.299792458, n_phase = 1.3499, light_n_group = 1.3797;
const double light_tangent = std::sqrt(n_phase * n_phase - 1), light_sine = light_tangent / n_phase;
constexpr double photons_per_m = 34'500, attenuation_m = 55, pmt_area_m2 = 45.4e-4, efficiency = 0.16;
constexpr double scattered_share = 0.1, scattered_ns = 50, pmt_radius_m = 0.2, too_far_m = 200;

/// Pulse length for n_pe photo-electrons, with the tail to short pulses that real data has.
double tot_ns(std::uint32_t n_pe, Random& random) noexcept {
    if (n_pe == 1 && random.uniform() < 0.3) return random.uniform(2, 25);
    return 26.9 + 2.4 * random.gaussian() + 8 * std::log(n_pe);
}

}  // namespace

double k40_pair_rate_hz(double c) noexcept {
    return std::exp(-0.7234 + 2.5920 * c - 0.4359 * c * c + 1.1051 * c * c * c);
}

Simulation::Simulation(const SimulationConfig& config, std::span<const Dom> doms)
    : config_(config), doms_(doms.begin(), doms.end()) {
    for (std::uint32_t i = 0; i < n_pmts; ++i)
        for (std::uint32_t k = 0; k < n_pmts; ++k) {
            if (i == k) continue;
            pair_hz_[i][k] = k40_pair_rate_hz(cos_between(i, k));
            row_hz_[i] += pair_hz_[i][k];
        }
    middle_m_ = (doms.front().position_m.z + doms.back().position_m.z) / 2;
    half_height_m_ = (doms.back().position_m.z - doms.front().position_m.z) / 2;
}

std::vector<SimulatedFrame> Simulation::slice(std::uint64_t number) const {
    const std::vector<Muon> muons_here = muons(number);
    std::vector<SimulatedFrame> frames;
    std::vector<TrueHit> hits;
    for (std::uint32_t dom = 0; dom < doms_.size(); ++dom) {
        Random random(config_.seed, (number + 1) << 16 | dom);
        hits.clear();
        add_singles(dom, random, hits);
        add_k40(random, hits);
        for (const Muon& muon : muons_here) add_muon(muon, doms_[dom], random, hits);
        frames.push_back(as_sent(doms_[dom], hits));
    }
    return frames;
}

void Simulation::add_singles(std::uint32_t dom, Random& random, std::vector<TrueHit>& hits) const {
    Random of_dom(config_.seed, dom);
    for (std::uint32_t channel = 0; channel < n_pmts; ++channel) {
        const double rate_hz = config_.singles_hz * of_dom.uniform(0.9, 1.1);
        if (rate_hz <= 0) continue;
        const double mean_ns = 1e9 / rate_hz, end_ns = common_t0_ns + slice_ns;
        for (double t = common_t0_ns + mean_ns * random.exponential(); t < end_ns; t += mean_ns * random.exponential())
            add_hit(t, channel, 1, random, hits);
    }
}

void Simulation::add_k40(Random& random, std::vector<TrueHit>& hits) const {
    const std::uint32_t n = random.poisson(config_.k40_hz * slice_ns * 1e-9);
    constexpr std::array<double, 3> more{third_share, fourth_share, fifth_share};
    for (std::uint32_t i = 0; i < n; ++i) {
        const double time_ns = common_t0_ns + random.uniform() * slice_ns;
        std::array<std::uint32_t, 5> pmts{};
        std::size_t n_hit = 0;
        while (n_hit < 2 || (n_hit < pmts.size() && random.uniform() < more[n_hit - 2])) {
            pmts[n_hit] = draw_next_pmt(std::span(pmts).first(n_hit), random);
            add_hit(time_ns, pmts[n_hit++], 1, random, hits);
        }
    }
}

/// Draws the first PMT by the sum of its pair rates, and each further one by its pair rates with the PMTs already hit.
std::uint32_t Simulation::draw_next_pmt(std::span<const std::uint32_t> already, Random& random) const {
    std::array<double, n_pmts> weight = row_hz_;
    if (!already.empty()) weight.fill(1);
    for (const std::uint32_t pmt : already)
        for (std::uint32_t k = 0; k < n_pmts; ++k) weight[k] *= pair_hz_[pmt][k];  // 0 for a PMT with itself
    double sum = 0;
    for (const double one : weight) sum += one;
    double left = random.uniform() * sum;
    for (std::uint32_t k = 0; k < n_pmts; ++k)
        if ((left -= weight[k]) < 0) return k;
    return n_pmts - 1;
}

void Simulation::add_hit(double time_ns, std::uint32_t channel, std::uint32_t n_pe, Random& random,
                         std::vector<TrueHit>& hits) const {
    const double seen_ns = time_ns + config_.time_spread_ns * random.gaussian();
    double tot = tot_ns(n_pe, random);
    if (random.uniform() < config_.afterpulse_share) {
        const double later_ns = random.uniform(6, 25);
        tot = std::min(tot, later_ns - 1);
        hits.push_back({seen_ns + later_ns, static_cast<std::uint8_t>(channel), 5});
    }
    hits.push_back(
        {seen_ns, static_cast<std::uint8_t>(channel), static_cast<std::uint8_t>(std::clamp(tot, 1.0, 254.0))});
}

std::vector<Muon> Simulation::muons(std::uint64_t number) const {
    Random random(config_.seed, ~number);
    std::vector<Muon> muons(random.poisson(config_.muon_hz * slice_ns * 1e-9));
    for (Muon& muon : muons) {
        const double radius_m = config_.muon_radius_m * std::sqrt(random.uniform());
        double x = 0, y = 0, across_x = 0, across_y = 0;
        random.direction(x, y);
        random.direction(across_x, across_y);
        const double cosine = random.uniform(0.98, 1), across = std::sqrt(1 - cosine * cosine);
        muon = {.point_m = {radius_m * x, radius_m * y, middle_m_},
                .time_ns = common_t0_ns + random.uniform(0.001, 0.999) * slice_ns,
                .direction = {across * across_x, across * across_y, -cosine}};
    }
    return muons;
}

void Simulation::add_muon(const Muon& muon, const Dom& dom, Random& random, std::vector<TrueHit>& hits) const {
    for (std::uint32_t channel = 0; channel < n_pmts; ++channel) {
        const Vec& axis = pmt_directions()[channel];
        const Vec pmt_m = dom.position_m + axis * pmt_radius_m - muon.point_m;
        const double along_m = pmt_m.dot(muon.direction);
        const double away_m = std::max(std::sqrt(std::max(pmt_m.dot(pmt_m) - along_m * along_m, 0.0)), 0.5);
        if (away_m > too_far_m) continue;
        const double path_m = away_m / light_sine;
        const Vec light = pmt_m - muon.direction * (along_m - away_m / light_tangent);
        const double facing = -light.dot(axis) / std::sqrt(light.dot(light));
        if (facing <= 0) continue;
        const double yield = photons_per_m / (2 * std::numbers::pi * away_m * light_sine) *
                             std::exp(-path_m / attenuation_m) * pmt_area_m2 * efficiency * facing;
        const std::uint32_t n_pe = random.poisson(yield);
        if (n_pe == 0) continue;
        double time_ns = muon.time_ns + ((along_m - away_m / light_tangent) + path_m * light_n_group) / c_m_per_ns;
        if (n_pe == 1 && random.uniform() < scattered_share) time_ns += scattered_ns * random.exponential();
        add_hit(time_ns, channel, n_pe, random, hits);
    }
}

/// Converts to raw times in whole ns. A PMT is blind while a pulse lasts; a board switches off a channel above 20 kHz.
SimulatedFrame Simulation::as_sent(const Dom& dom, std::vector<TrueHit>& hits) const {
    for (TrueHit& hit : hits) hit.time_ns -= dom.t0_ns[hit.channel];
    std::ranges::sort(hits, {}, &TrueHit::time_ns);
    SimulatedFrame frame;
    frame.hits.reserve(hits.size());
    std::array<double, n_pmts> blind_until_ns{};
    std::array<std::uint32_t, n_pmts> n{};
    for (const TrueHit& hit : hits) {
        if (hit.time_ns < 0 || hit.time_ns >= slice_ns || hit.time_ns < blind_until_ns[hit.channel]) continue;
        blind_until_ns[hit.channel] = hit.time_ns + hit.tot_ns;
        if (++n[hit.channel] > veto_hits)
            frame.vetoed |= 1U << hit.channel;
        else
            frame.hits.push_back({hit.channel, static_cast<std::uint32_t>(hit.time_ns), hit.tot_ns});
    }
    return frame;
}

}  // namespace anello::km3net
