// SPDX-License-Identifier: Apache-2.0
#include "trigger/ring_finder.hpp"

#include <array>
#include <string>

#include "core/errors.hpp"
#include "trigger/backend.hpp"

namespace anello::trigger {
namespace {

constexpr std::array<std::string_view, 7> algorithm_names{"crawford", "taubin", "histogram8x8", "histogram",
                                                          "almagest", "single", "multiring"};
constexpr std::array<std::string_view, 5> isa_names{"automatic", "scalar", "sse42", "avx2", "avx512"};

template <std::size_t n>
std::size_t position_of(std::string_view name, const std::array<std::string_view, n>& names, const char* field) {
    std::string all;
    for (std::size_t k = 0; k < n; ++k) {
        if (names[k] == name) return k;
        all += (k == 0 ? "" : ", ") + std::string(names[k]);
    }
    throw ConfigError(field, "must be one of " + all, std::string(name), "choose one of these names");
}

/// The widest that this processor can run.
Isa best_available() noexcept {
    for (const Isa isa : {Isa::avx512, Isa::avx2, Isa::sse42})
        if (is_available(isa)) return isa;
    return Isa::scalar;
}

auto function_of(Isa isa) noexcept {
    switch (isa) {
        case Isa::avx512:
            return &find_rings_avx512;
        case Isa::avx2:
            return &find_rings_avx2;
        case Isa::sse42:
            return &find_rings_sse42;
        default:
            return &find_rings_scalar;
    }
}

Isa choose(Isa wanted) {
    if (wanted == Isa::automatic) return best_available();
    if (!is_available(wanted))
        throw ConfigError("trigger.isa", "must be one that this processor can run", std::string(name_of(wanted)),
                          "leave it at automatic");
    return wanted;
}

const RingFinderConfig& validated(const RingFinderConfig& config) {
    config.validate();
    return config;
}

}  // namespace

Algorithm parse_algorithm(std::string_view name) {
    return static_cast<Algorithm>(position_of(name, algorithm_names, "trigger.algorithm"));
}

Isa parse_isa(std::string_view name) {
    return static_cast<Isa>(position_of(name, isa_names, "trigger.isa"));
}

std::string_view name_of(Algorithm algorithm) noexcept {
    return algorithm_names[static_cast<std::size_t>(algorithm)];
}

std::string_view name_of(Isa isa) noexcept {
    return isa_names[static_cast<std::size_t>(isa)];
}

bool is_available(Isa isa) noexcept {
    switch (isa) {
        case Isa::automatic:
        case Isa::scalar:
            return true;
        case Isa::sse42:
            return __builtin_cpu_supports("sse4.2");
        case Isa::avx2:
            return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        case Isa::avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    return false;
}

void RingCounts::add(std::span<const EventRings> events_found) noexcept {
    events += events_found.size();
    for (const EventRings& event : events_found) {
        rings += event.n_rings;
        events_truncated += (event.flags & hits_truncated) != 0;
        events_with_rejected_hits += (event.flags & hits_rejected) != 0;
        events_bad_offsets += (event.flags & bad_offsets) != 0;
        events_rings_truncated += (event.flags & rings_truncated) != 0;
    }
}

RingFinder::RingFinder(const RingFinderConfig& config)
    : config_(validated(config)), isa_(choose(config.isa)), find_(function_of(isa_)) {}

void RingFinder::find(const HitsView& hits, EventRings* rings) const noexcept {
    find_(config_, hits, rings);
}

}  // namespace anello::trigger
