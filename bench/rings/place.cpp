// SPDX-License-Identifier: Apache-2.0
#include "rings/place.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "rich/rings/ring_finder_cuda.hpp"

namespace rings {

using namespace anello::rich;
using anello::Isa;

namespace {

std::optional<Place> left_out(const std::string& name, const std::string& reason) {
    fmt::print(stderr, "left out, {}: {}\n", name, reason);
    return std::nullopt;
}

}  // namespace

std::optional<Place> place_of(const std::string& name, RingFinderConfig config, std::uint32_t max_events) {
    if (name != "cuda") {
        config.isa = anello::parse_word<Isa>(name, "isa");
        if (!is_available(config.isa)) return left_out(name, "this processor has none");
        const RingFinder finder(config);
        return Place{std::string(name_of(finder.isa())), false,
                     [finder](const HitsView& hits, EventRings* rings) { finder.find(hits, rings); }};
    }
    if (const std::string reason = CudaRingFinder::unavailable_reason(); !reason.empty()) return left_out(name, reason);
    const auto finder = std::make_shared<CudaRingFinder>(config, max_events, max_events * max_hits_per_event);
    return Place{"cuda", true, [finder](const HitsView& hits, EventRings* rings) {
                     if (!finder->find(hits, rings)) throw std::runtime_error("the CUDA device failed");
                 }};
}

}  // namespace rings
