// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config.hpp"
#include "keys.hpp"
#include "rich/rings/ring_finder.hpp"

namespace anello::rich {

/// Takes the keys of section trigger without "trigger.", all optional, e.g. "acceptance.radius_min_mm".
inline void take_finder(const bindings::ConfigReader& section, RingFinderConfig& config) {
    bindings::take(section.below("acceptance"), acceptance_keys, config.acceptance);
    bindings::take(section.below("histogram"), histogram_keys, config.histogram);
    bindings::take(section.below("almagest"), almagest_keys, config.almagest);
    bindings::take(section.below("single"), single_keys, config.single);
    bindings::take(section.below("multiring"), multiring_keys, config.multiring);
}

}  // namespace anello::rich
