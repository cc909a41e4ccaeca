// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/seed.hpp"
#include "km3net/detector.hpp"
#include "km3net/wire/clb.hpp"
#include "source/random.hpp"

namespace anello::km3net {

/// Parameters of the simulated hits in the sea.
struct SimulationConfig {
    double singles_hz = 7000;         ///< mean rate of a PMT; PMTs differ by up to 10 % to both sides
    double k40_hz = 656;              ///< rate of 40K decays that give a coincidence in a DOM; 0: none
    double afterpulse_share = 0.005;  ///< part of hits with a second one on the same PMT, 6 to 25 ns later
    double time_spread_ns = 2;        ///< standard deviation of a PMT's transit time
    double muon_hz = 5;               ///< rate of muons through a cylinder around the detector, nearly downwards
    double muon_radius_m = 30;
    std::uint64_t seed = default_seed;
};

/// A muon flies straight at the speed of light.
struct Muon {
    Vec point_m;  ///< where the muon is at
    double time_ns = 0;
    Vec direction;
};

/// Raw hits of one DOM in one slice, sorted by time, as its board sends them.
struct SimulatedFrame {
    std::vector<wire::clb::Hit> hits;
    std::uint32_t vetoed = 0;  ///< bits of channels that the board switched off at 20 kHz
};

/// Rate of coincidences of two PMTs from 40K decays in Hz, from a public parameterisation (km3pipe); 656 Hz in all
/// pairs.
double k40_pair_rate_hz(double cos_angle) noexcept;

class Simulation {
  public:
    Simulation(const SimulationConfig& config, std::span<const Dom> doms);

    /// Hits of a slice, by DOM. The same seed and number give the same slice.
    std::vector<SimulatedFrame> slice(std::uint64_t number) const;
    /// Muons of this slice; their times are calibrated and count from the slice's begin.
    std::vector<Muon> muons(std::uint64_t number) const;
    /// A hit before the electronics: PMT and calibrated time.
    struct TrueHit {
        double time_ns;  ///< calibrated
        std::uint8_t channel, tot_ns;
    };
    void add_muon(const Muon& muon, const Dom& dom, source::Random& random, std::vector<TrueHit>& hits) const;

  private:
    void add_singles(std::uint32_t dom, source::Random& random, std::vector<TrueHit>& hits) const;
    void add_k40(source::Random& random, std::vector<TrueHit>& hits) const;
    std::uint32_t draw_next_pmt(std::span<const std::uint32_t> already, source::Random& random) const;
    void add_hit(double time_ns, std::uint32_t channel, std::uint32_t n_pe, source::Random& random,
                 std::vector<TrueHit>& hits) const;
    SimulatedFrame as_sent(const Dom& dom, std::vector<TrueHit>& hits) const;

    SimulationConfig config_;
    std::vector<Dom> doms_;
    std::array<std::array<double, n_pmts>, n_pmts> pair_hz_{};
    std::array<double, n_pmts> row_hz_{};
    double middle_m_ = 0, half_height_m_ = 0;
};

}  // namespace anello::km3net
