// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "rich/rings/ring_finder.hpp"

namespace rings {

/// A ring finder on an instruction set of this processor, or on a CUDA device.
struct Place {
    std::string name;
    bool on_device;  ///< the processor's time then says little: take the wall clock's
    std::function<void(const anello::rich::HitsView&, anello::rich::EventRings*)> find;
};

/// name: an instruction set, or "cuda". Returns nothing, and says why on stderr, if it cannot be used here.
std::optional<Place> place_of(const std::string& name, anello::rich::RingFinderConfig config, std::uint32_t max_events);

}  // namespace rings
