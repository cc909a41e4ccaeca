// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

/// Random numbers that are the same on every machine: they use integers, and floating point with + - * / only. The
/// standard library's distributions and libm's functions differ between machines.
namespace anello::source {

/// The mixing step of SplitMix64 (Steele, Lea, Flood 2014): a bijection, so also a hash of its argument.
constexpr std::uint64_t mix64(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/// Natural logarithm of a positive, normal number; relative error below 1e-13.
constexpr double natural_log(double value) noexcept {
    constexpr double ln2 = 0.6931471805599453, sqrt2 = 1.4142135623730951;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    auto exponent = static_cast<std::int32_t>(bits >> 52) - 1023;
    double mantissa = std::bit_cast<double>((bits & 0xfffffffffffffU) | 0x3ff0000000000000U);
    if (mantissa > sqrt2) {
        mantissa *= 0.5;
        ++exponent;
    }
    const double t = (mantissa - 1) / (mantissa + 1), t2 = t * t;  // ln m = 2 artanh t, |t| < 0.172
    double series = 1.0 / 17;
    for (const double denominator : {15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0}) series = series * t2 + 1 / denominator;
    return exponent * ln2 + 2 * t * series;
}

class Random {
  public:
    /// Different streams of one seed are independent of each other, whatever number of values the others gave.
    constexpr explicit Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept
        : state_(mix64(mix64(seed + golden) + stream * golden)) {}

    constexpr std::uint64_t bits() noexcept { return mix64(state_ += golden); }
    /// In [0, 1).
    constexpr double uniform() noexcept { return static_cast<double>(bits() >> 11) * 0x1p-53; }
    constexpr double uniform(double from, double to) noexcept { return from + (to - from) * uniform(); }
    /// In [0, n), n > 0; the bias is below n / 2^32.
    constexpr std::uint32_t below(std::uint32_t n) noexcept {
        return static_cast<std::uint32_t>(((bits() >> 32) * n) >> 32);
    }
    /// Mean 0, standard deviation 1: the sum of twelve 16-bit uniforms, so never beyond 6.
    constexpr double gaussian() noexcept {
        std::uint32_t sum = 0;
        for (int word = 0; word < 3; ++word) {
            const std::uint64_t four = bits();
            for (unsigned shift = 0; shift < 64; shift += 16) sum += static_cast<std::uint32_t>(four >> shift & 0xffff);
        }
        return (static_cast<double>(sum) + 6) * 0x1p-16 - 6;
    }
    /// Mean 1.
    constexpr double exponential() noexcept { return -natural_log(static_cast<double>((bits() >> 11) + 1) * 0x1p-53); }
    /// Counts the exponential steps that fit into the mean.
    constexpr std::uint32_t poisson(double mean) noexcept {
        std::uint32_t n = 0;
        for (double at = exponential(); at < mean; at += exponential()) ++n;
        return n;
    }
    /// A direction in the plane, by rejection: no sine, no cosine.
    constexpr void direction(double& x, double& y) noexcept {
        double u = 0, v = 0, square = 0;
        do {
            u = uniform(-1, 1);
            v = uniform(-1, 1);
            square = u * u + v * v;
        } while (square > 1 || square < 1e-12);
        x = (u * u - v * v) / square;
        y = 2 * u * v / square;
    }

  private:
    static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
    std::uint64_t state_;
};

}  // namespace anello::source
