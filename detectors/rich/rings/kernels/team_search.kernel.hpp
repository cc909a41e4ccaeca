// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rich/rings/kernels/find_rings.kernel.hpp"

/// The second tier when lanes are threads: a team of threads searches one event together.
namespace anello::rich {

/// Like load_hits(), with one hit per thread: copies the usable hits, in order.
template <class L>
ANELLO_HD void load_hits_together(const HitSpan& span, const Acceptance& acceptance, EventHits& out,
                                  std::uint8_t& flags) {
    Team<L>::sync();  // no thread still reads the event before
    int n = 0;
    ANELLO_ROLLED
    for (int at = 0; at < span.n; at += L::width) {
        const int i = at + L::place();
        const bool present = i < span.n;
        const float x_mm = present ? span.x_mm[i] : max_coordinate_mm, y_mm = present ? span.y_mm[i] : 0;
        const bool usable = is_usable<L>(x_mm, y_mm);
        const std::uint32_t all = L::bits(usable);
        if (usable) {
            const int place = n + __builtin_popcountll(all & ((1u << L::place()) - 1));
            const float u = in_units<typename L::Scalar>(x_mm, acceptance.centre_x_mm);
            const float v = in_units<typename L::Scalar>(y_mm, acceptance.centre_y_mm);
            out.u[place] = u;
            out.v[place] = v;
            out.z[place] = u * u + v * v;
        }
        n += __builtin_popcountll(all);
    }
    flags = static_cast<std::uint8_t>(span.flags | (n < span.n ? hits_rejected : 0));
    if (Team<L>::leads()) out.n = n;
    fill_up<L>(out, n);
    Team<L>::sync();
}

/// Like find_many_of(). Each thread has its own `out`; all of them get the same content.
template <class L>
ANELLO_HD void search_together(const HitsView& hits, std::uint32_t event, const RingFinderConfig& config,
                               const Bounds& bounds, EventRings& out) {
    ANELLO_SHARED(L, EventHits, one);
    out.n_rings = 0;
    load_hits_together<L>(span_of<L>(hits, event), config.acceptance, one, out.flags);
    find_many<L>(one, config, bounds, out);
}

}  // namespace anello::rich
