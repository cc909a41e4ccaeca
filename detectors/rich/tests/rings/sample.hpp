// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

/// Simulates RICH events with known rings, to measure ring finders. It does not use the engine.
namespace rings {

/// splitmix64: small, and the same on every platform. It is one sequence of 2^64 numbers, in which every seed begins
/// 2^32 numbers after the one before: seeds below 2^32 share no event if a sample takes fewer numbers than this.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_((seed << 32) * step + 0x1234567) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += step);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    double gauss() {
        const double a = std::max(uniform(), 1e-300), b = uniform();
        return std::sqrt(-2 * std::log(a)) * std::cos(2 * std::numbers::pi * b);
    }
    int poisson(double mean) {
        const double limit = std::exp(-mean);
        double product = 1;
        int n = -1;
        do {
            ++n;
            product *= uniform();
        } while (product > limit);
        return n;
    }

  private:
    static constexpr std::uint64_t step = 0x9E3779B97F4A7C15ull;
    std::uint64_t state_;
};

/// Two spots of 976 PMTs each on an 18 mm hexagonal lattice, overlaid in the fit frame with an offset of a few mm.
class PmtLattice {
  public:
    static constexpr int pmts_per_spot = 976, n_pmts = 2 * pmts_per_spot;
    PmtLattice();
    /// The PMT of this spot whose 9 mm cone contains the point; -1: between the cones or outside.
    int at(int spot, double x_mm, double y_mm) const;
    std::array<float, n_pmts> x_mm, y_mm;
};

inline PmtLattice::PmtLattice() {
    constexpr double pitch_mm = 18, row_mm = 18 * std::numbers::sqrt3 / 2, offset_x_mm = 3.1, offset_y_mm = 2.3;
    constexpr double spot_x_mm[2] = {0, 7.3}, spot_y_mm[2] = {0, 4.9};
    std::vector<std::pair<double, double>> points;
    for (int row = -25; row <= 25; ++row)
        for (int column = -25; column <= 25; ++column)
            points.emplace_back(column * pitch_mm + ((row & 1) != 0 ? pitch_mm / 2 : 0) - offset_x_mm,
                                row * row_mm - offset_y_mm);
    std::sort(points.begin(), points.end(), [](const auto& p, const auto& q) {
        return p.first * p.first + p.second * p.second < q.first * q.first + q.second * q.second;
    });
    points.resize(pmts_per_spot);
    for (int spot = 0; spot < 2; ++spot)
        for (int k = 0; k < pmts_per_spot; ++k) {
            const auto pmt = static_cast<std::size_t>(spot * pmts_per_spot + k);
            x_mm[pmt] = static_cast<float>(points[static_cast<std::size_t>(k)].first + spot_x_mm[spot]);
            y_mm[pmt] = static_cast<float>(points[static_cast<std::size_t>(k)].second + spot_y_mm[spot]);
        }
}

inline int PmtLattice::at(int spot, double x, double y) const {
    constexpr double cone_mm = 9;
    const std::size_t first = static_cast<std::size_t>(spot) * pmts_per_spot;
    for (std::size_t pmt = first; pmt < first + pmts_per_spot; ++pmt) {
        const double dx = x_mm[pmt] - x, dy = y_mm[pmt] - y;
        if (dx * dx + dy * dy < cone_mm * cone_mm) return static_cast<int>(pmt);  // cones do not overlap
    }
    return -1;
}

struct TrueRing {
    float x_mm, y_mm, radius_mm;
    int n_hits;
};

struct Sample {
    std::vector<std::uint32_t> hit_offset{0}, ring_offset{0};
    std::vector<float> x_mm, y_mm;
    std::vector<std::int8_t> label;  ///< ring of the event that made the hit; -1: noise
    std::vector<TrueRing> ring;
    std::uint32_t n_events() const { return static_cast<std::uint32_t>(hit_offset.size() - 1); }
};

struct SampleConfig {
    int n_rings = -1;       ///< -1: the mix, 10/55/15/15/5 % of 0/1/2/3/4 rings
    bool physical = false;  ///< photons proportional to radius^2 instead of the same for all rings
    double photons = 20.5, photons_at_190_mm = 24;
    double noise_hits = 2.5;
    double centre_sigma_mm = 60, centre_max_mm = 140;
    double radius_min_mm = 100, radius_max_mm = 195;
    double smear_mm = 2, split_share = 0.3;
    std::size_t max_hits = 64;
};

/// Simulates one event after another; each call appends an event to a sample.
class Generator {
  public:
    Generator(const PmtLattice& lattice, const SampleConfig& config, std::uint64_t seed)
        : lattice_(lattice), config_(config), random_(seed) {}
    void append_event(Sample& sample);

  private:
    struct Hit {
        int pmt;
        std::int8_t label;
    };
    int draw_n_rings();
    TrueRing draw_ring();
    void light(const TrueRing& ring, std::int8_t label);
    void add_hit(int pmt, std::int8_t label);
    const PmtLattice& lattice_;
    SampleConfig config_;
    Random random_;
    std::vector<Hit> hits_;
    std::array<bool, PmtLattice::n_pmts> used_{};
};

inline int Generator::draw_n_rings() {
    if (config_.n_rings >= 0) return config_.n_rings;
    const double u = random_.uniform();
    return u < 0.10 ? 0 : u < 0.65 ? 1 : u < 0.80 ? 2 : u < 0.95 ? 3 : 4;
}

inline TrueRing Generator::draw_ring() {
    double x = 0, y = 0;
    do {
        x = random_.gauss() * config_.centre_sigma_mm;
        y = random_.gauss() * config_.centre_sigma_mm;
    } while (x * x + y * y > config_.centre_max_mm * config_.centre_max_mm);
    const double radius = config_.radius_min_mm + (config_.radius_max_mm - config_.radius_min_mm) * random_.uniform();
    return {static_cast<float>(x), static_cast<float>(y), static_cast<float>(radius), 0};
}

inline void Generator::add_hit(int pmt, std::int8_t label) {
    if (pmt < 0 || used_[static_cast<std::size_t>(pmt)]) return;
    used_[static_cast<std::size_t>(pmt)] = true;
    hits_.push_back({pmt, label});
}

/// A split ring lights one spot on one side of a random chord, the other spot on the other side.
inline void Generator::light(const TrueRing& ring, std::int8_t label) {
    const double relative = ring.radius_mm / 190;
    const double mean = config_.physical ? config_.photons_at_190_mm * relative * relative : config_.photons;
    const int n_photons = random_.poisson(mean);
    const bool split = random_.uniform() < config_.split_share;
    const int spot = random_.uniform() < 0.5 ? 1 : 0;
    const double chord_angle = 2 * std::numbers::pi * random_.uniform();
    const double chord_mm = (random_.uniform() - 0.5) * 0.8 * ring.radius_mm;
    for (int k = 0; k < n_photons; ++k) {
        const double phi = 2 * std::numbers::pi * random_.uniform();
        const double r = ring.radius_mm + config_.smear_mm * random_.gauss();
        const double x = r * std::cos(phi), y = r * std::sin(phi);
        const bool other = split && x * std::cos(chord_angle) + y * std::sin(chord_angle) > chord_mm;
        add_hit(lattice_.at(other ? 1 - spot : spot, ring.x_mm + x, ring.y_mm + y), label);
    }
}

inline void Generator::append_event(Sample& sample) {
    used_.fill(false);
    hits_.clear();
    const int n_rings = draw_n_rings();
    for (int k = 0; k < n_rings; ++k) {
        sample.ring.push_back(draw_ring());
        light(sample.ring.back(), static_cast<std::int8_t>(k));
    }
    const int n_noise = random_.poisson(config_.noise_hits);
    for (int k = 0; k < n_noise; ++k) add_hit(static_cast<int>(random_.next() % PmtLattice::n_pmts), -1);
    for (std::size_t i = hits_.size(); i > 1; --i) std::swap(hits_[i - 1], hits_[random_.next() % i]);
    if (hits_.size() > config_.max_hits) hits_.resize(config_.max_hits);
    const std::size_t first_ring = sample.ring_offset.back();
    for (const Hit& hit : hits_) {
        sample.x_mm.push_back(lattice_.x_mm[static_cast<std::size_t>(hit.pmt)]);
        sample.y_mm.push_back(lattice_.y_mm[static_cast<std::size_t>(hit.pmt)]);
        sample.label.push_back(hit.label);
        if (hit.label >= 0) ++sample.ring[first_ring + static_cast<std::size_t>(hit.label)].n_hits;
    }
    sample.hit_offset.push_back(static_cast<std::uint32_t>(sample.x_mm.size()));
    sample.ring_offset.push_back(static_cast<std::uint32_t>(sample.ring.size()));
}

inline Sample simulate(const PmtLattice& lattice, const SampleConfig& config, std::uint64_t seed, int n_events) {
    Sample sample;
    Generator generator(lattice, config, seed);
    for (int k = 0; k < n_events; ++k) generator.append_event(sample);
    return sample;
}

}  // namespace rings
