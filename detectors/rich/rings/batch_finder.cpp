// SPDX-License-Identifier: Apache-2.0
#include "rich/rings/batch_finder.hpp"

#include <array>
#include <utility>

#include "core/errors.hpp"
#include "rich/rings/ring_finder_cuda.hpp"

namespace anello::rich {
Backend parse_backend(std::string_view name) {
    return parse_word<Backend>(name, "trigger.backend");
}

std::string_view name_of(Backend backend) noexcept {
    return word_of(backend);
}

ChosenDevice choose_device(Backend backend, const RingFinderConfig& config, std::uint32_t max_events,
                           std::uint32_t max_hits, const Placement& placement) {
    if (backend == Backend::cpu) return {};
    if (backend == Backend::automatic)
        if (std::string reason = CudaRingFinder::unavailable_reason(); !reason.empty())
            return {nullptr, std::move(reason)};
    try {
        return {std::make_unique<CudaRingFinder>(config, max_events, max_hits, placement), ""};
    } catch (const SystemError& error) {  // there is a device, but with too little memory
        if (backend == Backend::cuda) throw;
        return {nullptr, error.what()};
    }
}

}  // namespace anello::rich
