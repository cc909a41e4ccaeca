// SPDX-License-Identifier: Apache-2.0
#include "trigger/batch_finder.hpp"

#include <array>
#include <utility>

#include "core/errors.hpp"
#include "trigger/ring_finder_cuda.hpp"

namespace anello::trigger {
namespace {

constexpr std::array<std::string_view, 3> backend_names{"auto", "cpu", "cuda"};

}  // namespace

Backend parse_backend(std::string_view name) {
    for (std::size_t k = 0; k < backend_names.size(); ++k)
        if (backend_names[k] == name) return static_cast<Backend>(k);
    throw ConfigError("trigger.backend", "must be one of auto, cpu, cuda", std::string(name), "Choose one of these.");
}

std::string_view name_of(Backend backend) noexcept {
    return backend_names[static_cast<std::size_t>(backend)];
}

ChosenDevice choose_device(Backend backend, const RingFinderConfig& config, std::uint32_t max_events,
                           std::uint32_t max_hits) {
    if (backend == Backend::cpu) return {};
    if (backend == Backend::automatic)
        if (std::string reason = CudaRingFinder::unavailable_reason(); !reason.empty())
            return {nullptr, std::move(reason)};
    try {
        return {std::make_unique<CudaRingFinder>(config, max_events, max_hits), ""};
    } catch (const SystemError& error) {  // a device, but not enough of it
        if (backend == Backend::cuda) throw;
        return {nullptr, error.what()};
    }
}

}  // namespace anello::trigger
