// SPDX-License-Identifier: Apache-2.0
#include "rich/source/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/clock.hpp"

namespace anello::rich {
namespace {

/// Fraction of a disk's area that light collectors cover: pi / (2 sqrt 3).
constexpr double collector_coverage = 0.9068996821171089;

const RichSimulationConfig& validated(const RichSimulationConfig& config) {
    config.validate();
    return config;
}

/// Index of the share that contains `at`, in [0, 1), after the shares are scaled to a sum of 1.
template <typename Shares>
std::uint32_t choose(const Shares& shares, double at) {
    double left = at * std::accumulate(std::begin(shares), std::end(shares), 0.0);
    std::uint32_t last_possible = 0, index = 0;
    for (const double share : shares) {
        if (share > 0) last_possible = index;
        if (share > 0 && left < share) return index;
        left -= share;
        ++index;
    }
    return last_possible;
}

}  // namespace

RichSimulation::RichSimulation(const RichSimulationConfig& config)
    : config_(validated(config)),
      optics_(config.electron_ring_radius_mm),
      offset_{disk_offset(config.fit_frame, 0), disk_offset(config.fit_frame, 1)} {}

EventSample RichSimulation::simulate(std::uint32_t n_events, std::uint64_t first) {
    EventSample sample;
    sample.hit_offset.reserve(n_events + std::size_t{1});
    sample.ring_offset.reserve(n_events + std::size_t{1});
    for (std::uint64_t event = first; event < first + n_events; ++event) add_event(event, sample);
    return sample;
}

void RichSimulation::add_event(std::uint64_t event_index, EventSample& sample) {
    source::Random random(config_.seed, event_index);
    hits_.clear();
    rings_.clear();
    add_rings(random);
    add_noise(random);
    merge_hits();
    limit_hits(random);
    for (const SampleHit& hit : hits_)
        if (hit.ring != no_ring) ++rings_[static_cast<std::size_t>(hit.ring)].n_hits;
    sample.add_event(hits_, rings_);
}

std::uint32_t RichSimulation::draw_n_tracks(source::Random& random) const {
    return choose(config_.ring_shares, random.uniform());
}

Particle RichSimulation::draw_particle(source::Random& random) const {
    const std::array<double, 4> shares{config_.electron_share, config_.muon_share, config_.pion_share,
                                       config_.kaon_share};
    return static_cast<Particle>(choose(shares, random.uniform()));
}

void RichSimulation::add_rings(source::Random& random) {
    const std::uint32_t n_in_time = draw_n_tracks(random);
    const std::uint32_t n_out_of_time = std::min(random.poisson(config_.out_of_time_rings), 60U);
    for (std::uint32_t i = 0; i < n_in_time; ++i) add_ring(random, true);
    for (std::uint32_t i = 0; i < n_out_of_time; ++i) add_ring(random, false);
}

void RichSimulation::add_ring(source::Random& random, bool in_time) {
    TruthRing ring{};
    ring.in_time = in_time;
    if (!in_time) {
        const double distance_ns = random.uniform(config_.out_of_time_min_ns, config_.out_of_time_max_ns);
        ring.time_ns = static_cast<float>((random.bits() >> 63) != 0 ? distance_ns : -distance_ns);
    }
    draw_centre(random, ring);
    if (!draw_circle(random, ring)) return;
    const auto ring_index = static_cast<std::int8_t>(rings_.size());
    rings_.push_back(ring);
    add_photons(random, ring, ring_index);
}

void RichSimulation::draw_centre(source::Random& random, TruthRing& ring) const {
    double dx = 0, dy = 0;
    do {
        dx = random.gaussian() * config_.centre_sd_mm;
        dy = random.gaussian() * config_.centre_sd_mm;
    } while (dx * dx + dy * dy > config_.centre_max_mm * config_.centre_max_mm);
    ring.x_mm = static_cast<float>(config_.centre_x_mm + dx);
    ring.y_mm = static_cast<float>(config_.centre_y_mm + dy);
}

bool RichSimulation::draw_circle(source::Random& random, TruthRing& ring) const {
    if (config_.sample == SampleKind::brief) {
        ring.particle = Particle::none;
        ring.radius_mm = static_cast<float>(random.uniform(config_.radius_min_mm, config_.radius_max_mm));
        return true;
    }
    ring.particle = draw_particle(random);
    // Redraws for a truncated Gaussian; if the window is far out in the tail, it is flat after some attempts.
    double momentum_gev = 0;
    int n_tries = 0;
    do {
        momentum_gev = ++n_tries <= 64 ? config_.momentum_mean_gev + config_.momentum_sd_gev * random.gaussian()
                                       : random.uniform(config_.momentum_min_gev, config_.momentum_max_gev);
    } while (momentum_gev < config_.momentum_min_gev || momentum_gev > config_.momentum_max_gev);
    ring.momentum_gev = static_cast<float>(momentum_gev);
    ring.radius_mm = static_cast<float>(optics_.radius_mm(ring.particle, momentum_gev));
    return ring.radius_mm > 0;
}

double RichSimulation::mean_photons(const TruthRing& ring) const {
    if (config_.sample == SampleKind::brief) return config_.ring_photons;
    // The number of photons is proportional to sin^2 theta; at 11 mrad sine and angle differ by 2e-5.
    const double relative = static_cast<double>(ring.radius_mm) / config_.electron_ring_radius_mm;
    return config_.electron_ring_hits / collector_coverage * relative * relative;
}

RichSimulation::Split RichSimulation::draw_split(source::Random& random, const TruthRing& ring) const {
    if (config_.sample == SampleKind::na62)
        return {1, 0, config_.mirror_x_mean_mm + config_.mirror_x_sd_mm * random.gaussian(), true};
    Split split{};
    random.direction(split.normal_x, split.normal_y);
    split.by_emission_point = false;
    const bool cut = random.uniform() < config_.split_share;
    const double side_mm = (random.bits() >> 63) != 0 ? 1e6 : -1e6;
    split.offset_mm = cut ? random.uniform(-0.4, 0.4) * static_cast<double>(ring.radius_mm) : side_mm;
    return split;
}

std::uint32_t RichSimulation::disk_of(source::Random& random, const Split& split, double x_mm, double y_mm) const {
    // A photon emitted at a fraction w of the path before the mirror hits it at w times its ring vector from the track.
    const double share = split.by_emission_point ? random.uniform() : 1;
    return split.offset_mm + share * (x_mm * split.normal_x + y_mm * split.normal_y) > 0 ? 0 : 1;
}

bool RichSimulation::in_acceptance(double x_mm, double y_mm) const noexcept {
    if (config_.sample == SampleKind::brief) return true;
    const double u = (x_mm + 150) / 350, v = y_mm / 280;
    return u * u + v * v < 1;
}

void RichSimulation::add_photons(source::Random& random, const TruthRing& ring, std::int8_t ring_index) {
    const Split split = draw_split(random, ring);
    const std::uint32_t n_photons = random.poisson(mean_photons(ring));
    for (std::uint32_t i = 0; i < n_photons; ++i) {
        double x_mm = 0, y_mm = 0;
        random.direction(x_mm, y_mm);
        x_mm = x_mm * static_cast<double>(ring.radius_mm) + config_.smear_mm * random.gaussian();
        y_mm = y_mm * static_cast<double>(ring.radius_mm) + config_.smear_mm * random.gaussian();
        const std::uint32_t disk = disk_of(random, split, x_mm, y_mm);
        const double time_ns = static_cast<double>(ring.time_ns) + config_.hit_time_sd_ns * random.gaussian();
        x_mm += static_cast<double>(ring.x_mm);
        y_mm += static_cast<double>(ring.y_mm);
        if (!in_acceptance(x_mm, y_mm)) continue;
        const Point offset = offset_[disk];
        add_hit(lookup_.pmt_at(disk, x_mm + static_cast<double>(offset.x_mm), y_mm + static_cast<double>(offset.y_mm)),
                time_ns, ring_index);
    }
}

void RichSimulation::add_noise(source::Random& random) {
    const std::uint32_t n_noise = random.poisson(config_.noise_hits);
    for (std::uint32_t i = 0; i < n_noise; ++i) {
        const auto pmt = static_cast<std::int32_t>(random.below(n_pmts));
        add_hit(pmt, random.uniform(-config_.out_of_time_max_ns, config_.out_of_time_max_ns), no_ring);
    }
}

void RichSimulation::add_hit(std::int32_t pmt, double time_ns, std::int8_t ring) {
    if (pmt == PmtLookup::none) return;
    const double time_fine = std::floor(time_ns / fine_time_ns + 0.5);
    hits_.push_back(
        {static_cast<std::uint16_t>(pmt), static_cast<std::int16_t>(std::clamp(time_fine, -32768.0, 32767.0)), ring});
}

/// Keeps of each PMT's hits those at least merge_ns after the one before, and sorts hits by time, as TDCs deliver
/// them.
void RichSimulation::merge_hits() {
    const auto by_pmt = [](const SampleHit& a, const SampleHit& b) {
        return a.pmt != b.pmt               ? a.pmt < b.pmt
               : a.time_fine != b.time_fine ? a.time_fine < b.time_fine
                                            : a.ring < b.ring;
    };
    const auto by_time = [](const SampleHit& a, const SampleHit& b) {
        return a.time_fine != b.time_fine ? a.time_fine < b.time_fine : a.pmt < b.pmt;
    };
    const auto merge_fine = static_cast<std::int32_t>(config_.merge_ns / fine_time_ns);
    std::sort(hits_.begin(), hits_.end(), by_pmt);
    std::size_t n_kept = 0;
    for (const SampleHit& hit : hits_) {
        const bool absorbed =
            n_kept > 0 && hits_[n_kept - 1].pmt == hit.pmt && hit.time_fine - hits_[n_kept - 1].time_fine <= merge_fine;
        if (!absorbed) hits_[n_kept++] = hit;
    }
    hits_.resize(n_kept);
    std::sort(hits_.begin(), hits_.end(), by_time);
}

void RichSimulation::limit_hits(source::Random& random) {
    while (hits_.size() > config_.max_hits)
        hits_.erase(hits_.begin() + random.below(static_cast<std::uint32_t>(hits_.size())));
}

}  // namespace anello::rich
