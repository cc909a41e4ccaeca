// SPDX-License-Identifier: Apache-2.0
#include "rich/rings/ring_finder.hpp"

#include <array>
#include <string>

#include "core/errors.hpp"
#include "rich/rings/backend.hpp"

namespace anello::rich {
namespace {

/// The instruction set with the widest registers that this processor supports.
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
    return parse_word<Algorithm>(name, "trigger.algorithm");
}

std::string_view name_of(Algorithm algorithm) noexcept {
    return word_of(algorithm);
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

}  // namespace anello::rich
