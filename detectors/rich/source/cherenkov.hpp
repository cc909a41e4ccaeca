// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace anello::rich {

enum class Particle : std::uint8_t { electron, muon, pion, kaon, none, count };

inline constexpr std::array<std::string_view, 5> particle_names{"electron", "muon", "pion", "kaon", "none"};
/// Masses of the PDG in GeV/c^2.
inline constexpr std::array<double, 5> particle_mass_gev{0.000510999, 0.1056584, 0.1395704, 0.493677, 0};

/// Light of a track in a gas, which a mirror focuses to a ring of radius R = f theta with cos theta = 1 / (n beta).
/// n follows from the ring radius of a particle at the speed of light, as in NA62's calibration.
class CherenkovOptics {
  public:
    static constexpr double focal_length_mm = 17020;

    explicit CherenkovOptics(double electron_ring_radius_mm) noexcept {
        const double theta = electron_ring_radius_mm / focal_length_mm, square = theta * theta;
        cos_theta_max_ = 1 - square / 2 + square * square / 24;  // exact to 1e-15 at 11 mrad
    }

    double refractive_index() const noexcept { return 1 / cos_theta_max_; }

    /// Ring radius; 0 below threshold.
    double radius_mm(Particle particle, double momentum_gev) const noexcept {
        const double mass = particle_mass_gev[static_cast<std::size_t>(particle)];
        const double inverse_beta = std::sqrt(1 + (mass / momentum_gev) * (mass / momentum_gev));
        const double cos_theta = cos_theta_max_ * inverse_beta;
        if (cos_theta >= 1) return 0;
        const double sine = std::sqrt(1 - cos_theta * cos_theta), square = sine * sine;
        return focal_length_mm * sine * (1 + square / 6 + square * square * (3.0 / 40));  // f asin(sine)
    }

    /// Momentum above which a particle gives light.
    double threshold_gev(Particle particle) const noexcept {
        const double n = refractive_index();
        return particle_mass_gev[static_cast<std::size_t>(particle)] / std::sqrt(n * n - 1);
    }

  private:
    double cos_theta_max_;
};

}  // namespace anello::rich
