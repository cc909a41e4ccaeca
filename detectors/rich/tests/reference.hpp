// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "rich/rings/ring_finder.hpp"

/// Slow, simple, double-precision versions of the ring finders, in mm, written independently of the kernels.
namespace reference {

using anello::rich::Acceptance;
using anello::rich::AlmagestParameters;
using anello::rich::HistogramParameters;
using anello::rich::SingleParameters;

struct Hit {
    double x, y;
};
using Hits = std::vector<Hit>;

struct Circle {
    double x, y, r;
    double distance(const Hit& h) const { return std::hypot(h.x - x, h.y - y); }
    double miss(const Hit& h) const { return distance(h) - r; }
};
using Circles = std::vector<Circle>;

inline bool accepts(const Acceptance& a, const Circle& c) {
    return std::hypot(c.x - a.centre_x_mm, c.y - a.centre_y_mm) < a.centre_max_mm && c.r > a.radius_min_mm &&
           c.r < a.radius_max_mm;
}

/// Solves a 3x3 system by Cramer's rule; no result if it is singular.
using Row = std::array<double, 3>;
inline double determinant(const Row& a, const Row& b, const Row& c) {
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}
inline std::optional<Row> solve(std::array<Row, 3> m, const Row& rhs) {
    const double all = determinant(m[0], m[1], m[2]);
    if (std::abs(all) < 1e-9) return std::nullopt;
    Row solution{};
    for (std::size_t column = 0; column < 3; ++column) {
        auto replaced = m;
        for (std::size_t row = 0; row < 3; ++row) replaced[row][column] = rhs[row];
        solution[column] = determinant(replaced[0], replaced[1], replaced[2]) / all;
    }
    return solution;
}

/// Least squares of w (x^2 + y^2 - 2 a x - 2 b y - c)^2 as three normal equations around the mean.
inline std::optional<Circle> algebraic_fit(const Hits& hits, const std::vector<double>& weights) {
    double sum = 0, mean_x = 0, mean_y = 0;
    for (std::size_t i = 0; i < hits.size(); ++i) {
        sum += weights[i];
        mean_x += weights[i] * hits[i].x;
        mean_y += weights[i] * hits[i].y;
    }
    if (sum < 2.5) return std::nullopt;
    mean_x /= sum;
    mean_y /= sum;
    std::array<Row, 3> m{};
    Row rhs{};
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const double u = (hits[i].x - mean_x) / 100, v = (hits[i].y - mean_y) / 100;
        const Row basis{u, v, 1};
        for (std::size_t j = 0; j < 3; ++j) {
            for (std::size_t k = 0; k < 3; ++k) m[j][k] += weights[i] * basis[j] * basis[k];
            rhs[j] += weights[i] * basis[j] * (u * u + v * v);
        }
    }
    const auto s = solve(m, rhs);
    if (!s) return std::nullopt;
    const double a = (*s)[0] / 2, b = (*s)[1] / 2;
    return Circle{100 * a + mean_x, 100 * b + mean_y, 100 * std::sqrt(std::max(0.0, (*s)[2] + a * a + b * b))};
}

inline std::optional<Circle> crawford(const Hits& hits) {
    return algebraic_fit(hits, std::vector<double>(hits.size(), 1.0));
}

/// The function that Taubin's fit minimises.
inline double taubin_objective(const Hits& hits, const Circle& c) {
    double algebraic = 0, gradient = 0;
    for (const Hit& h : hits) {
        const double d2 = c.distance(h) * c.distance(h), q = d2 - c.r * c.r;
        algebraic += q * q;
        gradient += 4 * d2;
    }
    return algebraic / gradient;
}

inline double flat_top(double miss, double flatness) {
    return std::min(1.0, flatness * std::max(0.0, 1 - miss * miss));
}

inline Circle clamped(const Circle& c, const Acceptance& a) {
    const double edge = a.centre_max_mm;
    return {a.centre_x_mm + std::clamp(c.x - a.centre_x_mm, -edge, edge),
            a.centre_y_mm + std::clamp(c.y - a.centre_y_mm, -edge, edge),
            std::clamp<double>(c.r, a.radius_min_mm, a.radius_max_mm)};
}

/// One weighted step of Gauss-Newton on (d - r).
inline Circle geometric_step(const Hits& hits, const Circle& c, const std::vector<double>& weights) {
    std::array<Row, 3> m{};
    Row rhs{};
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const double d = c.distance(hits[i]);
        const Row basis{(hits[i].x - c.x) / d, (hits[i].y - c.y) / d, 1};
        for (std::size_t j = 0; j < 3; ++j) {
            for (std::size_t k = 0; k < 3; ++k) m[j][k] += weights[i] * basis[j] * basis[k];
            rhs[j] += weights[i] * basis[j] * c.miss(hits[i]);
        }
    }
    const auto s = solve(m, rhs);
    if (!s) return c;
    return {c.x + std::clamp((*s)[0], -30.0, 30.0), c.y + std::clamp((*s)[1], -30.0, 30.0),
            c.r + std::clamp((*s)[2], -30.0, 30.0)};
}

inline std::optional<Circle> single(const Hits& hits, const SingleParameters& p, const Acceptance& a) {
    auto start = crawford(hits);
    if (!start) return std::nullopt;
    Circle c = clamped(*start, a);
    std::vector<double> weights(hits.size());
    for (const double window : p.window_mm) {
        for (std::size_t i = 0; i < hits.size(); ++i) {
            const double d2 = c.distance(hits[i]) * c.distance(hits[i]);
            weights[i] = flat_top((d2 - c.r * c.r) / (2 * c.r * window), p.flatness);
        }
        if (const auto next = algebraic_fit(hits, weights)) c = clamped(*next, a);
    }
    for (unsigned step = 0; step < p.geometric_steps; ++step) {
        for (std::size_t i = 0; i < hits.size(); ++i)
            weights[i] = flat_top(c.miss(hits[i]) / p.final_window_mm, p.flatness);
        c = geometric_step(hits, c, weights);
    }
    return c;
}

inline Circles histogram(Hits hits, const HistogramParameters& p, const Acceptance& a, bool refine_2x2) {
    Circles rings;
    struct Bin {
        double x, y, inner, outer;
        std::size_t n;
    };
    const auto fullest = [&](double x0, double y0, double pitch, int side, double width) {
        Bin best{0, 0, 0, 0, 0};
        const int n_bins = static_cast<int>(std::ceil((a.radius_max_mm - a.radius_min_mm) / width - 1e-3));
        for (int cell = 0; cell < side * side; ++cell)
            for (int bin = 0; bin < n_bins; ++bin) {
                Bin now{x0 + pitch * (cell % side - (side - 1) / 2.0), y0 + pitch * (cell / side - (side - 1) / 2.0),
                        a.radius_min_mm + bin * width, a.radius_min_mm + (bin + 1) * width, 0};
                for (const Hit& h : hits) {
                    const double d = std::hypot(h.x - now.x, h.y - now.y);
                    now.n += d >= now.inner && d < now.outer;
                }
                if (now.n > best.n) best = now;
            }
        return best;
    };
    while (hits.size() >= p.threshold && rings.size() < anello::rich::max_rings_per_event) {
        Bin ring = fullest(a.centre_x_mm, a.centre_y_mm, p.half_width_mm / 4, 8, p.bin_mm);
        if (ring.n < p.threshold) break;
        if (refine_2x2) {
            const Bin fine = fullest(ring.x, ring.y, p.half_width_mm / 8, 2, p.fine_bin_mm);
            if (fine.n > 0)
                ring = {fine.x, fine.y, fine.inner - p.fine_bin_mm / 2, fine.outer + p.fine_bin_mm / 2, fine.n};
        }
        const auto inside = [&](const Hit& h) {
            const double d = std::hypot(h.x - ring.x, h.y - ring.y);
            return d >= ring.inner && d < ring.outer;
        };
        const auto middle = std::stable_partition(hits.begin(), hits.end(), [&](const Hit& h) { return !inside(h); });
        const auto c = crawford(Hits(middle, hits.end()));
        if (c && accepts(a, *c)) rings.push_back(*c);
        if (middle == hits.end()) break;
        hits.erase(middle, hits.end());
    }
    return rings;
}

/// The smallest |AD BC + AB CD - AC BD| over the orderings of the four points.
inline double ptolemy(const Hit& a, const Hit& b, const Hit& c, const Hit& d) {
    const auto l = [](const Hit& p, const Hit& q) { return std::hypot(p.x - q.x, p.y - q.y); };
    const double p = l(a, b) * l(c, d), q = l(a, d) * l(b, c), r = l(a, c) * l(b, d);
    return std::min({std::abs(p + q - r), std::abs(q + r - p), std::abs(r + p - q)});
}

struct Grown {
    Circle circle;
    std::vector<bool> marked;
    double chi2;
};

inline std::optional<std::array<Hit, 3>> outermost(const Hits& hits, int direction, double min_pair) {
    const double angle[4] = {0, 90, 45, 135};
    const double phi = angle[direction / 2] * M_PI / 180, sign = direction % 2 != 0 ? -1 : 1;
    std::vector<std::size_t> order(hits.size());
    std::iota(order.begin(), order.end(), 0);
    const auto height = [&](std::size_t i) { return sign * (hits[i].x * std::cos(phi) + hits[i].y * std::sin(phi)); };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return height(i) > height(j) + 0.01; });
    Hits taken;
    for (const std::size_t i : order) {
        const bool apart = std::all_of(taken.begin(), taken.end(), [&](const Hit& t) {
            return std::hypot(t.x - hits[i].x, t.y - hits[i].y) > min_pair + 0.01;
        });
        if (apart) taken.push_back(hits[i]);
        if (taken.size() == 3) return std::array<Hit, 3>{taken[0], taken[1], taken[2]};
    }
    return std::nullopt;
}

inline std::optional<Grown> grow(const Hits& hits, const std::array<Hit, 3>& t, const AlmagestParameters& p,
                                 const Acceptance& a) {
    const auto start = crawford({t[0], t[1], t[2]});
    if (!start || start->r > p.max_triplet_radius_mm) return std::nullopt;
    Grown ring{{}, std::vector<bool>(hits.size()), 0};
    auto& marked = ring.marked;
    const auto count = [&] { return static_cast<unsigned>(std::count(marked.begin(), marked.end(), true)); };
    const auto fit = [&] {
        Hits used;
        for (std::size_t i = 0; i < hits.size(); ++i)
            if (marked[i]) used.push_back(hits[i]);
        return crawford(used);
    };
    for (std::size_t i = 0; i < hits.size(); ++i) marked[i] = ptolemy(t[0], t[1], t[2], hits[i]) < p.ptolemy_mm2;
    if (count() < p.min_ring_hits) return std::nullopt;
    auto c = fit();
    if (!c) return std::nullopt;
    for (std::size_t i = 0; i < hits.size(); ++i) marked[i] = marked[i] || std::abs(c->miss(hits[i])) <= p.attach_mm;
    c = fit();
    if (!c) return std::nullopt;
    for (unsigned dropped = 0;; ++dropped) {
        std::size_t worst = hits.size();
        double most = 0;
        ring.chi2 = 0;
        for (std::size_t i = 0; i < hits.size(); ++i) {
            const double pull = marked[i] ? c->miss(hits[i]) / p.sigma_mm : 0;
            ring.chi2 += pull * pull;
            if (marked[i] && pull * pull >= most) {
                most = pull * pull;
                worst = i;
            }
        }
        if (dropped == p.max_drops || most <= p.max_pull2) break;
        marked[worst] = false;
        c = fit();
        if (!c) return std::nullopt;
    }
    if (count() < p.min_ring_hits || !accepts(a, *c)) return std::nullopt;
    ring.circle = *c;
    return ring;
}

inline Circles almagest(const Hits& hits, const AlmagestParameters& p, const Acceptance& a) {
    Circles best;
    std::size_t best_hits = 0;
    double best_chi2 = 0;
    for (int direction = 0; direction < 8; ++direction) {
        Hits left = hits;
        Circles rings;
        double chi2 = 0;
        while (left.size() >= p.min_ring_hits && rings.size() < anello::rich::max_rings_per_event) {
            const auto t = outermost(left, direction, p.min_pair_mm);
            const auto ring = t ? grow(left, *t, p, a) : std::nullopt;
            if (!ring) break;
            rings.push_back(ring->circle);
            chi2 += ring->chi2;
            Hits rest;
            for (std::size_t i = 0; i < left.size(); ++i)
                if (!ring->marked[i]) rest.push_back(left[i]);
            left = rest;
        }
        const std::size_t n_hits = hits.size() - left.size();
        if (n_hits < best_hits || (n_hits == best_hits && chi2 >= best_chi2)) continue;
        best_hits = n_hits;
        best_chi2 = chi2;
        best = rings;
    }
    return best;
}

}  // namespace reference
